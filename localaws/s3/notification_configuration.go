package s3

import (
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
	"github.com/godwitmq/godwit/localaws/wire"
)

// PutBucketNotificationConfigurationInput is the input of PutBucketNotificationConfiguration.
type PutBucketNotificationConfigurationInput struct {
	Bucket                    string    `rest:"bucket"`
	NotificationConfiguration *Notified `rest:"payload,NotificationConfiguration"`
	SkipDestinationValidation bool      `rest:"header,x-amz-skip-destination-validation"`
}

// Notified says where a bucket reports its events, in XML.
type Notified struct {
	QueueConfiguration         []NotifiedQueue
	TopicConfiguration         []NotifiedTopic
	CloudFunctionConfiguration []NotifiedFunction
	EventBridgeConfiguration   *EventBridge
}

// NotifiedQueue is a queue that is notified.
type NotifiedQueue struct {
	ID     *string `xml:"Id"`
	Queue  string
	Event  []string
	Filter *NotificationFilter
}

// NotifiedTopic is a topic that is notified.
type NotifiedTopic struct {
	ID     *string `xml:"Id"`
	Topic  string
	Event  []string
	Filter *NotificationFilter
}

// NotifiedFunction is a function of Lambda. It is refused.
type NotifiedFunction struct {
	ID            *string `xml:"Id"`
	CloudFunction string
	Event         []string
	Filter        *NotificationFilter
}

// EventBridge sends every event to EventBridge. It is refused.
type EventBridge struct{}

// NotificationFilter selects keys.
type NotificationFilter struct {
	S3Key *KeyFilter
}

// KeyFilter has at most one rule for the prefix and one for the suffix.
type KeyFilter struct {
	FilterRule []FilterRule
}

// FilterRule is a prefix or a suffix.
type FilterRule struct {
	Name  string
	Value string
}

// putBucketNotificationConfiguration replaces all notifications, and only if every destination takes a test event,
// unless the request skips that (AWS's API reference, PutBucketNotificationConfiguration).
func putBucketNotificationConfiguration(c call, b *bucket.Bucket, in *PutBucketNotificationConfigurationInput) (
	*Done, error,
) {
	if in.NotificationConfiguration == nil {
		return nil, rest.MalformedXML()
	}
	all, err := notifications(c.at, in.NotificationConfiguration)
	if err != nil {
		return nil, err
	}
	if err := checkOverlap(all); err != nil {
		return nil, err
	}
	if !in.SkipDestinationValidation {
		if err := checkDestinations(c.at, b, all); err != nil {
			return nil, err
		}
	}
	if err := configure(b, func(set *bucket.Settings) { set.Notifications = all }); err != nil {
		return nil, err
	}
	for _, n := range all {
		if err := sendTest(c, b, n.Destination); err != nil && !in.SkipDestinationValidation {
			c.at.log.Warn("s3: the test event was not delivered", "bucket", b.Name(), "destination", n.Destination,
				"error", err)
		}
	}
	return done(), nil
}

// notifications checks what a client wrote and returns it as the model has it.
func notifications(s *Service, in *Notified) ([]bucket.Notification, error) {
	switch {
	case len(in.CloudFunctionConfiguration) > 0:
		return nil, notImplemented("CloudFunctionConfiguration (Lambda)")
	case in.EventBridgeConfiguration != nil:
		return nil, notImplemented("EventBridgeConfiguration")
	}
	var all []bucket.Notification
	add := func(id *string, kind, arn string, events []string, filter *NotificationFilter) error {
		n := bucket.Notification{Destination: arn, Events: events, ID: s.opts.Random.UUID()}
		if id != nil && *id != "" {
			n.ID = *id
		}
		if !wire.IsOf(kind, arn) {
			return rest.InvalidArgument("The ARN could not be parsed", "ARN", arn)
		}
		if err := checkEvents(events); err != nil {
			return err
		}
		err := filter.apply(&n)
		all = append(all, n)
		return err
	}
	for _, t := range in.TopicConfiguration {
		if err := add(t.ID, "sns", t.Topic, t.Event, t.Filter); err != nil {
			return nil, err
		}
	}
	for _, q := range in.QueueConfiguration {
		if err := add(q.ID, "sqs", q.Queue, q.Event, q.Filter); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func checkEvents(events []string) error {
	if len(events) == 0 {
		return rest.MalformedXML()
	}
	for _, e := range events {
		if slices.Contains(eventNames(), e) {
			continue
		}
		if slices.ContainsFunc(unbuiltEvents(), func(p string) bool { return strings.HasPrefix(e, p) }) {
			return notImplemented("The event " + e)
		}
		return rest.InvalidArgument("The event '"+e+"' is not supported for notifications", "Event", e)
	}
	return nil
}

// apply sets the prefix and suffix of a notification. A nil filter has none.
func (f *NotificationFilter) apply(n *bucket.Notification) error {
	if f == nil || f.S3Key == nil {
		return nil
	}
	for _, r := range f.S3Key.FilterRule {
		var value, name *string
		switch strings.ToLower(r.Name) {
		case "prefix":
			value, name = &n.Prefix, &n.PrefixName
		case "suffix":
			value, name = &n.Suffix, &n.SuffixName
		default:
			return rest.InvalidArgument("filter rule name must be either prefix or suffix", "FilterRule.Name", r.Name)
		}
		if *name != "" {
			return rest.InvalidArgument("Cannot specify more than one "+strings.ToLower(r.Name)+" rule in a filter.",
				"FilterRule.Name", r.Name)
		}
		*value, *name = r.Value, r.Name
	}
	return nil
}

// checkOverlap refuses two notifications that one event could both select.
func checkOverlap(all []bucket.Notification) error {
	related := func(a, b string, is func(a, b string) bool) bool { return is(a, b) || is(b, a) }
	for i := range all {
		for j := range i {
			a, b := &all[i], &all[j]
			shared := slices.ContainsFunc(a.Events, func(x string) bool {
				return slices.ContainsFunc(b.Events, func(y string) bool {
					return x == y || related(x, y, func(x, y string) bool {
						family, all := strings.CutSuffix(x, "*")
						return all && strings.HasPrefix(y, family)
					})
				})
			})
			if shared && related(a.Prefix, b.Prefix, strings.HasPrefix) &&
				related(a.Suffix, b.Suffix, strings.HasSuffix) {
				return rest.Refuse(400, "InvalidArgument", "Configurations overlap. Configurations on the same bucket "+
					"cannot share a common event type.")
			}
		}
	}
	return nil
}

// checkDestinations refuses destinations that would refuse a notification.
func checkDestinations(s *Service, b *bucket.Bucket, all []bucket.Notification) error {
	var details []string
	for _, n := range all {
		if parts := strings.Split(n.Destination, ":"); len(parts) != 6 || parts[3] != b.Region() {
			return rest.InvalidArgument("The notification destination service region is not valid for the bucket location "+
				"constraint", "ARN", n.Destination)
		}
		if err := s.opts.Destinations.Check(n.Destination, origin(b)); err != nil {
			s.log.Info("s3: a destination was refused", "bucket", b.Name(), "destination", n.Destination, "error", err)
			details = append(details, "ArgumentName", n.Destination, "ArgumentValue", err.Error())
		}
	}
	if len(details) > 0 {
		return rest.Refuse(400, "InvalidArgument", "Unable to validate the following destination configurations",
			details...)
	}
	return nil
}

// GetBucketNotificationConfigurationOutput is the output of GetBucketNotificationConfiguration.
type GetBucketNotificationConfigurationOutput struct {
	Notified
}

// getBucketNotificationConfiguration answers an empty document where there are none, and no error (AWS's API
// reference).
func getBucketNotificationConfiguration(_ call, b *bucket.Bucket, _ *BucketInput) (
	*GetBucketNotificationConfigurationOutput, error,
) {
	out := &GetBucketNotificationConfigurationOutput{}
	for _, n := range b.Settings().Notifications {
		filter := shownFilter(&n)
		if wire.IsOf("sns", n.Destination) {
			out.TopicConfiguration = append(out.TopicConfiguration,
				NotifiedTopic{&n.ID, n.Destination, n.Events, filter})
		} else {
			out.QueueConfiguration = append(out.QueueConfiguration,
				NotifiedQueue{&n.ID, n.Destination, n.Events, filter})
		}
	}
	return out, nil
}

func shownFilter(n *bucket.Notification) *NotificationFilter {
	var rules []FilterRule
	if n.PrefixName != "" {
		rules = append(rules, FilterRule{"Prefix", n.Prefix})
	}
	if n.SuffixName != "" {
		rules = append(rules, FilterRule{"Suffix", n.Suffix})
	}
	if rules == nil {
		return nil
	}
	return &NotificationFilter{&KeyFilter{rules}}
}
