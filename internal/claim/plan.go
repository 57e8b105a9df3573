package claim

import (
	"context"

	"github.com/godwitmq/godwit/driver"
)

// Plan compares a store with what its options say, as a difference of the channel whose provisioning would create it;
// none: the store is as it should be.
func Plan(ctx context.Context, s driver.Store, of driver.Channel) ([]driver.Difference, error) {
	err := s.Ensure(ctx, driver.Verify)
	d := driver.Difference{Channel: of, Resource: "bucket"}
	switch class := driver.ClassOf(err); {
	case err == nil:
		return nil, nil
	case class == driver.NotFound:
		d.Note = "the bucket of large messages does not exist" // the service's own words have the id of the request
	case class == driver.Permanent:
		d.Kind, d.Attribute, d.Note = driver.DiffersValue, "lifecycle", err.Error()
	default:
		return nil, err
	}
	return []driver.Difference{d}, nil
}
