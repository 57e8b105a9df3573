package wire

import (
	"cmp"
	"context"
	"reflect"
	"strings"
)

// Place is an account in a region.
type Place struct{ Account, Region string }

// String returns the place as logs show it.
func (p Place) String() string { return p.Account + " in " + p.Region }

// ARN returns the ARN of a resource of a service.
func (p Place) ARN(service, name string) string {
	return "arn:" + Partition(p.Region) + ":" + service + ":" + p.Region + ":" + p.Account + ":" + name
}

// Partition returns the partition of AWS that a region is in, which is the second part of all its ARNs.
func Partition(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov"
	}
	return "aws"
}

// PartitionOf returns the partition of an ARN.
func PartitionOf(arn string) string {
	_, rest, _ := strings.Cut(arn, ":")
	partition, _, _ := strings.Cut(rest, ":")
	return partition
}

// IsOf reports whether an ARN is one of a service, in whatever partition.
func IsOf(service, arn string) bool {
	parts := strings.SplitN(arn, ":", 4)
	return len(parts) == 4 && parts[0] == "arn" && strings.HasPrefix(parts[1], "aws") && parts[2] == service
}

// Compare orders places by account, then by region.
func (p Place) Compare(q Place) int {
	return cmp.Or(strings.Compare(p.Account, q.Account), strings.Compare(p.Region, q.Region))
}

// PlaceOf returns the place that an ARN names; false: the text is no ARN with an account and a region.
func PlaceOf(arn string) (p Place, ok bool) {
	rest, ok := strings.CutPrefix(arn, "arn:")
	if !ok {
		return Place{}, false
	}
	_, rest, _ = strings.Cut(rest, ":") // the partition
	_, rest, _ = strings.Cut(rest, ":") // the service
	p.Region, rest, _ = strings.Cut(rest, ":")
	p.Account, _, ok = strings.Cut(rest, ":")
	return p, ok && IsAccount(p.Account) && IsRegion(p.Region)
}

// IsAccount reports whether a text is the number of an account: twelve digits.
func IsAccount(text string) bool {
	if len(text) != accountDigits {
		return false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

const (
	accountDigits = 12
	longestRegion = 32 // more than AWS's longest name has
)

// IsRegion reports whether a text has the form of a region's name: us-east-1, us-gov-west-1. It is called for every
// delivery, and allocates nothing.
func IsRegion(text string) bool {
	head, rest, _ := strings.Cut(text, "-")
	if len(head) != 2 || !isWord(head) || len(text) > longestRegion {
		return false
	}
	for words := 0; ; words++ {
		part, more, ok := strings.Cut(rest, "-")
		if !ok {
			return words > 0 && len(part) == 1 && part[0] >= '0' && part[0] <= '9'
		}
		if !isWord(part) {
			return false
		}
		rest = more
	}
}

// isWord reports whether a text is of small letters.
func isWord(text string) bool {
	for i := range len(text) {
		if text[i] < 'a' || text[i] > 'z' {
			return false
		}
	}
	return text != ""
}

// Home says in which place a call works. The signature has the caller's account and region: an access key of twelve
// digits is an account, and the temporary keys of STS contain theirs. If the signature does not name an account or a
// region, or names it in another form, Place decides.
type Home struct {
	Place
	// SingleRegion is true if every call works in the region of Place, whatever it is signed for.
	SingleRegion bool
}

// Caller returns the place of a signature.
func (h Home) Caller(key, region string) Place {
	p := h.Place
	if IsAccount(key) {
		p.Account = key
	} else if account, ok := temporaryAccount(key); ok {
		p.Account = account
	}
	if region != p.Region && !h.SingleRegion && IsRegion(region) {
		p.Region = region
	}
	return p
}

// locate returns the place of a caller, and the account that owns the resource which the call names. A call that is not
// signed is its owner's.
func (h Home) locate(key, region, resource string) (caller Place, owner string) {
	caller = h.Caller(key, region)
	named, ok := PlaceOf(resource)
	switch {
	case ok:
	case IsAccount(resource):
		named = Place{Account: resource}
	default:
		named = QueuePlace(resource)
	}
	switch {
	case named.Account == "":
		return caller, caller.Account
	case key != "":
		return caller, named.Account
	}
	caller.Account = named.Account
	if named.Region != "" && !h.SingleRegion {
		caller.Region = named.Region
	}
	return caller, named.Account
}

// named returns the members that may name the resource of a call, in order.
func (s *shape) named(members []string) []*field {
	var fields []*field
	for _, name := range members {
		if f := s.jsonField([]byte(name)); f != nil && f.shape.kind == stringKind {
			fields = append(fields, f)
		}
	}
	return fields
}

// resource returns what names the resource of a call: the first of these members that is given; "": none is.
func resource(in any, members []*field) string {
	if len(members) == 0 {
		return ""
	}
	v := reflect.ValueOf(in).Elem()
	for _, m := range members {
		f := m.in(v)
		if f.Kind() == reflect.Pointer {
			if f.IsNil() {
				continue
			}
			f = f.Elem()
		}
		if text := f.String(); text != "" {
			return text
		}
	}
	return ""
}

// In returns the handler of an action in the place that where chooses for a call. Services of several places use it.
func In[S, I, O any](where func(*Call) (S, error), action func(S, context.Context, *Call, *I) (*O, error),
) func(context.Context, *Call, *I) (*O, error) {
	return func(ctx context.Context, c *Call, in *I) (*O, error) {
		s, err := where(c)
		if err != nil {
			return nil, err
		}
		return action(s, ctx, c, in)
	}
}
