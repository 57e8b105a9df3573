package godwit

import (
	"cmp"
	"fmt"
	"reflect"
)

// setDefault replaces a zero value.
func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// within refuses a value outside of its range, naming the field and the value.
func within[T cmp.Ordered](field string, v, low, high T) error {
	if v < low || v > high {
		return invalid(field, v, fmt.Sprintf("it must lie between %v and %v", low, high))
	}
	return nil
}

// eachSet refuses a nil among middleware, naming the field and its index.
func eachSet[M any](field string, ms []M) error {
	for i, m := range ms {
		if reflect.ValueOf(m).IsNil() {
			return invalid(fmt.Sprintf("%s[%d]", field, i), "nil",
				"leave it out, or look at what should have made it (Idempotent needs a store, Timeout a time above 0)")
		}
	}
	return nil
}

// optional drops the complaint about a value that was left out.
func optional[T comparable](v T, err error) error {
	var zero T
	if v == zero {
		return nil
	}
	return err
}
