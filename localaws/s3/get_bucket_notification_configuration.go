package s3

import (
	"context"
	"strings"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// GetBucketNotificationConfigurationOutput is the output of GetBucketNotificationConfiguration.
type GetBucketNotificationConfigurationOutput struct {
	Notified
}

// getBucketNotificationConfiguration answers an empty document where there are none, and no error (AWS's API
// reference).
func (s *Service) getBucketNotificationConfiguration(
	_ context.Context, c *rest.Call, in *BucketInput,
) (*GetBucketNotificationConfigurationOutput, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	out := &GetBucketNotificationConfigurationOutput{}
	for _, n := range b.Settings().Notifications {
		filter := shownFilter(&n)
		if strings.HasPrefix(n.Destination, "arn:aws:sns:") {
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
