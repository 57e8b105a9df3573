package conformance

import (
	"context"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/godwitmq/godwit/localaws"
)

// covered are the actions and parameters that the cases have used: "SendMessage" and "SendMessage.MessageBody".
var covered = struct {
	sync.Mutex
	names map[string]bool
}{names: map[string]bool{}}

// watchCoverage records every called action and every parameter that was set.
func watchCoverage(server *localaws.Server) {
	server.Control("sqs.*", func(_ context.Context, r *localaws.Request) localaws.Outcome {
		covered.Lock()
		defer covered.Unlock()
		covered.names[r.Action] = true
		note(r.Action, reflect.ValueOf(r.Input).Elem())
		return localaws.Outcome{}
	})
}

func note(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			note(path, v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			note(path, v.Index(i))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			note(path, it.Value())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); !v.Field(i).IsZero() {
				name := path + "." + f.Tag.Get("json")
				covered.names[name] = true
				note(name, v.Field(i))
			}
		}
	}
}

// TestMain runs the cases and then fails for each action or parameter that no case used.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if code == 0 && *endpoint == "" && flag.Lookup("test.run").Value.String() == "" {
		code = judgeCoverage()
	}
	os.Exit(code)
}

func judgeCoverage() int {
	server, err := localaws.New(&localaws.Options{Seed: testSeed})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	var missing []string
	for _, a := range server.SQS().Wire().Actions {
		for _, name := range append([]string{""}, a.Members()...) {
			if whole := strings.TrimSuffix(a.Name+"."+name, "."); !covered.names[whole] {
				missing = append(missing, whole)
			}
		}
	}
	slices.Sort(missing)
	if len(missing) == 0 {
		return 0
	}
	fmt.Printf("no case uses:\n\t%s\n", strings.Join(missing, "\n\t"))
	return 1
}
