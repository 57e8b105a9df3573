package s3

import (
	"context"
	"strings"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// PutBucketWebsiteInput is the input of PutBucketWebsite.
type PutBucketWebsiteInput struct {
	Bucket               string          `rest:"bucket"`
	WebsiteConfiguration *bucket.Website `rest:"payload,WebsiteConfiguration"`
}

// putBucketWebsite keeps the configuration. The server has no endpoint of websites.
func (s *Service) putBucketWebsite(_ context.Context, c *rest.Call, in *PutBucketWebsiteInput) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	set := in.WebsiteConfiguration
	if set == nil {
		return nil, rest.MalformedXML()
	}
	if err := checkWebsite(set); err != nil {
		return nil, err
	}
	return done(), s.keep(b, keptWebsite, func(to *bucket.Settings) { to.Website = set })
}

func checkWebsite(w *bucket.Website) error {
	all, index := w.RedirectAllRequestsTo, w.IndexDocument
	switch {
	case all != nil && (index != nil || w.ErrorDocument != nil || len(w.RoutingRule) > 0):
		return rest.InvalidArgument("RedirectAllRequestsTo cannot be provided in conjunction with other Routing Rules.",
			"RedirectAllRequestsTo", "not null")
	case all != nil && all.HostName == "":
		return rest.MalformedXML()
	case all != nil:
		return checkProtocol(all.Protocol)
	case index == nil:
		return rest.InvalidArgument("A value for IndexDocument Suffix must be provided if RedirectAllRequestsTo is empty",
			"IndexDocument", "null")
	case index.Suffix == "" || strings.Contains(index.Suffix, "/"):
		return rest.InvalidArgument("The IndexDocument Suffix is not well formed", "IndexDocument", index.Suffix)
	case w.ErrorDocument != nil && w.ErrorDocument.Key == "":
		return rest.MalformedXML()
	}
	for _, r := range w.RoutingRule {
		if r.Redirect.ReplaceKeyPrefixWith != nil && r.Redirect.ReplaceKeyWith != nil {
			return invalidRequest("You can only define ReplaceKeyPrefix or ReplaceKey but not both.")
		}
		if r.Condition != nil && *r.Condition == (bucket.WebsiteCondition{}) {
			return invalidRequest("Condition cannot be empty. To redirect all requests without a condition, the condition " +
				"element shouldn't be present.")
		}
		if err := checkProtocol(r.Redirect.Protocol); err != nil {
			return err
		}
	}
	return nil
}

func checkProtocol(name *string) error {
	if name != nil && *name != "http" && *name != "https" {
		return invalidRequest("Invalid protocol, protocol can be http or https. If not defined the protocol will be " +
			"selected automatically.")
	}
	return nil
}
