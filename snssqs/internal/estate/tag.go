package estate

import (
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// Our own tags, in addition to those of a ChannelSpec.
const (
	tagManaged      = "managed-by"
	managedByGodwit = "godwit"
	tagChannel      = "channel"
	tagRole         = "role"
	tagNamespace    = "namespace" // not set without a namespace

	roleQueue       = "queue"
	roleDeadLetters = "dead-letters"
	roleExchange    = "exchange"
)

func differingTags(is, wanted map[string]string) map[string]string {
	differ := map[string]string{}
	for name, value := range wanted {
		if was, there := is[name]; !there || was != value {
			differ[name] = value
		}
	}
	return differ
}

// managed reports whether tags say that Godwit has created their resource.
func managed(tags map[string]string) bool { return tags[tagManaged] == managedByGodwit }

// Ours returns an error for a resource whose tags do not say that Godwit has created it.
func Ours(ch driver.Channel, resource string, tags map[string]string) error {
	if managed(tags) {
		return nil
	}
	return client.Permanent("channel %s: %s does not have the tag %s=%s, so Godwit has not created it: delete it yourself",
		ch, resource, tagManaged, managedByGodwit)
}

// Managed is the tag of all resources that Godwit has created.
func Managed() (key, value string) { return tagManaged, managedByGodwit }

// UsersTags are tags without those that this package sets itself.
func UsersTags(tags map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range tags {
		switch name {
		case tagManaged, tagChannel, tagRole, tagNamespace:
		default:
			out[name] = value
		}
	}
	return out
}
