package godwit

import (
	"context"

	"github.com/godwitmq/godwit/driver"
)

// ProvisionMode says how far constructors may go in making what a channel needs.
type ProvisionMode uint8

const (
	ProvisionAuto   ProvisionMode = iota // create what is missing; a consumer also changes what differs
	ProvisionVerify                      // change nothing; what is missing is an error
	ProvisionNever                       // make no such call at all
)

// provision asks a backend that can for what the channel needs.
func provision(ctx context.Context, b driver.Backend, name string, spec driver.ChannelSpec) error {
	p, ok := b.(driver.Provisioner)
	if !ok {
		return nil
	}
	if err := p.Ensure(ctx, spec); err != nil {
		return wrapError("provision", name, "", err)
	}
	return nil
}
