package wire

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
)

// As sets the value that to points to: a driver.Raw from a record, a *kgo.Record or a driver.Provenance also from the
// original of a record in a tier. It returns false for other types.
func As(r *kgo.Record, to any) bool {
	switch to := to.(type) {
	case *driver.Provenance:
		at := HomeOrHere(r)
		*to = driver.Provenance{Partition: strconv.Itoa(int(at.N)), Offset: at.Offset}
	case **kgo.Record:
		one := *Original(r)
		one.Context = nil // it belongs to the client
		*to = &one
	case *driver.Raw:
		*to = Raw(r)
	default:
		return false
	}
	return true
}
