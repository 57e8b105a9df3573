package wire

import (
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
)

// Form is Attributes of one destination, without defaults.
type Form struct {
	Native  bool
	Routing string
}

// LegalAttribute reports whether SQS and SNS accept a name for an attribute, and it has no meaning of its own.
func LegalAttribute(name string) bool {
	return !reserved(name) && checkAttribute(driver.RawHeader{Name: name, Type: stringType, Value: []byte("x")},
		true) == nil
}

// reserved reports whether an attribute of this name has a meaning of its own, so that no header can be one.
func reserved(name string) bool { return name == EnvelopeAttribute || claim.Announces(name) }
