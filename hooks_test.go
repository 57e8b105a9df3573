package godwit_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/godwitmq/godwit"
)

// Every hook is called on both sides, in order, and a nil hook on either side is ignored.
func TestHooksJoin(t *testing.T) {
	var called []string
	all := func(name string) godwit.Hooks {
		var h godwit.Hooks
		v := reflect.ValueOf(&h).Elem()
		for i := range v.NumField() {
			field := v.Type().Field(i)
			v.Field(i).Set(reflect.MakeFunc(field.Type, func([]reflect.Value) []reflect.Value {
				called = append(called, name+field.Name)
				return nil
			}))
		}
		return h
	}
	for _, c := range []struct {
		name   string
		joined godwit.Hooks
		want   []string
	}{
		{"both", all("a ").Join(all("b ")), []string{"a ", "b "}},
		{"first", all("a ").Join(godwit.Hooks{}), []string{"a "}},
		{"second", godwit.Hooks{}.Join(all("b ")), []string{"b "}},
		{"three", all("a ").Join(all("b "), all("c ")), []string{"a ", "b ", "c "}},
	} {
		v := reflect.ValueOf(c.joined)
		for i := range v.NumField() {
			called = nil
			var args []reflect.Value
			for arg := range v.Field(i).Type().Ins() {
				args = append(args, reflect.Zero(arg))
			}
			v.Field(i).Call(args)
			var want []string
			for _, side := range c.want {
				want = append(want, side+v.Type().Field(i).Name)
			}
			if !slices.Equal(called, want) {
				t.Errorf("%s: called %q, want %q", c.name, called, want)
			}
		}
	}
	none := reflect.ValueOf(godwit.Hooks{}.Join(godwit.Hooks{}))
	for i := range none.NumField() {
		if !none.Field(i).IsNil() {
			t.Errorf("%s of two empty hooks is not nil", none.Type().Field(i).Name)
		}
	}
}
