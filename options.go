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

// within returns an error with the field and the value if the value is out of its range.
func within[T cmp.Ordered](field string, v, low, high T) error {
	if v < low || v > high {
		return invalid(field, v, fmt.Sprintf("it must be between %v and %v", low, high))
	}
	return nil
}

// eachSet returns an error with the field and the index if a middleware is nil.
func eachSet[M any](field string, ms []M) error {
	for i, m := range ms {
		if reflect.ValueOf(m).IsNil() {
			return invalid(fmt.Sprintf("%s[%d]", field, i), "nil",
				"remove it, or check the function that returned it (Idempotent needs a store, Timeout a time above 0)")
		}
	}
	return nil
}

// optional returns err, or nil if the value was not set.
func optional[T comparable](v T, err error) error {
	var zero T
	if v == zero {
		return nil
	}
	return err
}
