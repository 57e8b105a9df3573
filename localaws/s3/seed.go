package s3

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
	"github.com/godwitmq/godwit/localaws/wire"
)

// Seed is a bucket with its notifications, as in a seed file.
type Seed struct {
	Account       string // "": the service's
	Name          string
	Region        string // "": the service's
	Tags          map[string]string
	Notifications []SeedNotification
}

// SeedNotification is one notification of a Seed. Its destination is an ARN.
type SeedNotification struct {
	Destination    string
	Events         []string
	Prefix, Suffix string
}

// Plant creates what a seed describes. An existing bucket of the region is accepted, and gets the tags and
// notifications of the seed.
func (s *Service) Plant(seed Seed) error {
	region, account := cmp.Or(seed.Region, s.opts.Region), cmp.Or(seed.Account, s.opts.Account)
	if !wire.IsRegion(region) {
		return fmt.Errorf("region %q is not of the form us-east-1", region)
	}
	var given []Tag
	for _, k := range slices.Sorted(maps.Keys(seed.Tags)) {
		given = append(given, Tag{k, seed.Tags[k]})
	}
	tags, err := checkTags(given, bucketTags)
	if err != nil {
		return fmt.Errorf("tags: %w", err)
	}
	b, err := create(s, account, seed.Name, region, &bucket.Settings{Tags: tags}, false)
	if err != nil {
		return err
	}
	all, err := seed.notifications(s.opts.Random)
	if err != nil {
		return err
	}
	if err := checkDestinations(s, b, all); err != nil {
		return fmt.Errorf("notifications: %w", err)
	}
	return b.Configure(func(set *bucket.Settings) { set.Tags, set.Notifications = tags, all })
}

// notifications returns the notifications of a seed.
func (seed *Seed) notifications(r *random.Source) ([]bucket.Notification, error) {
	var all []bucket.Notification
	for i, n := range seed.Notifications {
		if err := checkEvents(n.Events); err != nil {
			return nil, fmt.Errorf("notifications[%d].events: %w", i, err)
		}
		one := bucket.Notification{
			ID: r.UUID(), Destination: n.Destination, Events: n.Events, Prefix: n.Prefix, Suffix: n.Suffix,
		}
		if n.Prefix != "" {
			one.PrefixName = "Prefix"
		}
		if n.Suffix != "" {
			one.SuffixName = "Suffix"
		}
		all = append(all, one)
	}
	return all, checkOverlap(all)
}
