package s3

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// The parts of S3 that are kept and shown, and do not act.
const (
	keptACL        = "access control lists"
	keptCORS       = "cross-origin resource sharing"
	keptLogging    = "logging"
	keptTransition = "transitions of a lifecycle"
	keptWebsite    = "website hosting"
)

// keep stores a configuration that does not act, and says so once a part.
func (c call) keep(b *bucket.Bucket, part string, alter func(*bucket.Settings)) error {
	if err := configure(b, alter); err != nil {
		return err
	}
	c.inert(b, part)
	return nil
}

// inert says once that a part does not act.
func (c call) inert(b *bucket.Bucket, part string) {
	if _, told := c.at.told.LoadOrStore(part, true); !told {
		c.at.log.Warn("s3: a configuration is kept and shown, and does not act", "part", part, "bucket", b.Name())
	}
}

// PutBucketPolicyInput is the input of PutBucketPolicy.
type PutBucketPolicyInput struct {
	Bucket                        string `rest:"bucket"`
	ConfirmRemoveSelfBucketAccess *bool  `rest:"header,x-amz-confirm-remove-self-bucket-access"`
	Policy                        string `rest:"text"`
}

// maxPolicy is the longest policy of a bucket.
const maxPolicy = 20 << 10

// putBucketPolicy stores a policy. It refuses nobody, because every caller is the owner.
func putBucketPolicy(_ call, b *bucket.Bucket, in *PutBucketPolicyInput) (*Done, error) {
	var document struct {
		Version   string
		Statement json.RawMessage
	}
	switch {
	case len(in.Policy) > maxPolicy:
		return nil, rest.Refuse(400, "PolicyTooLarge", "The bucket policy is larger than 20 KB")
	case json.Unmarshal([]byte(in.Policy), &document) != nil:
		return nil, rest.Refuse(400, "MalformedPolicy", "Policies must be valid JSON and the first byte must be '{'")
	case len(document.Statement) == 0:
		return nil, rest.Refuse(400, "MalformedPolicy", "Missing required field Statement")
	}
	return noContent(), configure(b, func(set *bucket.Settings) { set.Policy = in.Policy })
}

// configure changes the settings of a bucket.
func configure(b *bucket.Bucket, alter func(*bucket.Settings)) error {
	if err := b.Configure(alter); err != nil {
		return modelError(err, b, "", "", bucket.Condition{})
	}
	return nil
}

// GetBucketPolicyOutput is the output of GetBucketPolicy.
type GetBucketPolicyOutput struct {
	Policy string `rest:"text"`
}

// getBucketPolicy answers the policy as it was put, in JSON and not in XML, or NoSuchBucketPolicy (AWS's API
// reference).
func getBucketPolicy(_ call, b *bucket.Bucket, in *BucketInput) (*GetBucketPolicyOutput, error) {
	text := b.Settings().Policy
	if text == "" {
		return nil, notFound(b, "NoSuchBucketPolicy", "The bucket policy does not exist")
	}
	return &GetBucketPolicyOutput{text}, nil
}

// deleteBucketPolicy succeeds also where there is no policy.
func deleteBucketPolicy(_ call, b *bucket.Bucket, _ *BucketInput) (*Done, error) {
	return noContent(), configure(b, func(set *bucket.Settings) { set.Policy = "" })
}

// PutBucketCORSInput is the input of PutBucketCors.
type PutBucketCORSInput struct {
	Bucket            string       `rest:"bucket"`
	CORSConfiguration *bucket.CORS `rest:"payload,CORSConfiguration"`
}

const maxCORSRules = 100 // S3: rules of a bucket

// putBucketCORS keeps the rules. Which pages may call the server is an option of the server.
func putBucketCORS(c call, b *bucket.Bucket, in *PutBucketCORSInput) (*Done, error) {
	set := in.CORSConfiguration
	if set == nil || len(set.CORSRule) == 0 || len(set.CORSRule) > maxCORSRules {
		return nil, rest.MalformedXML()
	}
	for _, r := range set.CORSRule {
		if len(r.AllowedMethod) == 0 || len(r.AllowedOrigin) == 0 {
			return nil, rest.MalformedXML()
		}
		for _, method := range r.AllowedMethod {
			if !slices.Contains([]string{"GET", "PUT", "HEAD", "POST", "DELETE"}, method) {
				return nil, invalidRequest("Found unsupported HTTP method in CORS config. Unsupported method is " + method)
			}
		}
	}
	return done(), c.keep(b, keptCORS, func(to *bucket.Settings) { to.CORS = set })
}

// GetBucketCORSOutput is the output of GetBucketCors.
type GetBucketCORSOutput struct {
	CORSRule []bucket.CORSRule
}

// getBucketCORS is NoSuchCORSConfiguration where there are no rules.
func getBucketCORS(_ call, b *bucket.Bucket, in *BucketInput) (*GetBucketCORSOutput, error) {
	set := b.Settings().CORS
	if set == nil {
		return nil, notFound(b, "NoSuchCORSConfiguration", "The CORS configuration does not exist")
	}
	return &GetBucketCORSOutput{set.CORSRule}, nil
}

// deleteBucketCORS succeeds also where there are no rules.
func deleteBucketCORS(_ call, b *bucket.Bucket, _ *BucketInput) (*Done, error) {
	return noContent(), configure(b, func(set *bucket.Settings) { set.CORS = nil })
}

// PutBucketLoggingInput is the input of PutBucketLogging.
type PutBucketLoggingInput struct {
	Bucket              string         `rest:"bucket"`
	BucketLoggingStatus *LoggingStatus `rest:"payload,BucketLoggingStatus"`
}

// LoggingStatus is a bucket's logging; nil: it has none.
type LoggingStatus struct {
	LoggingEnabled *bucket.Logging
}

// putBucketLogging keeps the target, which must be a bucket of the same account and region. An empty status removes it.
// The refusals are as recorded on AWS, 2024-08-29 (TestRecordedS3Settings).
func putBucketLogging(c call, b *bucket.Bucket, in *PutBucketLoggingInput) (*Done, error) {
	if in.BucketLoggingStatus == nil {
		return nil, rest.MalformedXML()
	}
	set := in.BucketLoggingStatus.LoggingEnabled
	if set == nil {
		return done(), configure(b, func(to *bucket.Settings) { to.Logging = nil })
	}
	target := c.at.store.Bucket(set.TargetBucket)
	switch {
	case target == nil:
		return nil, rest.Refuse(400, "InvalidTargetBucketForLogging", "The target bucket for logging does not exist",
			"TargetBucket", set.TargetBucket)
	case target.Account() != b.Account():
		return nil, rest.Refuse(400, "InvalidTargetBucketForLogging", "The owner for the bucket to be logged and the "+
			"target bucket must be the same.", "TargetBucket", set.TargetBucket)
	case target.Region() != b.Region():
		places := []string{"SourceBucketLocation", b.Region(), "TargetBucketLocation", target.Region()}
		if b.Region() == firstRegion {
			places = places[2:]
		}
		return nil, rest.Refuse(403, "CrossLocationLoggingProhibitted", "Cross S3 location logging not allowed. ",
			places...)
	}
	return done(), c.keep(b, keptLogging, func(to *bucket.Settings) { to.Logging = set })
}

// getBucketLogging answers an empty status where nothing is logged, and no error (AWS's API reference).
func getBucketLogging(_ call, b *bucket.Bucket, _ *BucketInput) (*LoggingStatus, error) {
	return &LoggingStatus{b.Settings().Logging}, nil
}

// PutBucketWebsiteInput is the input of PutBucketWebsite.
type PutBucketWebsiteInput struct {
	Bucket               string          `rest:"bucket"`
	WebsiteConfiguration *bucket.Website `rest:"payload,WebsiteConfiguration"`
}

// putBucketWebsite keeps the configuration. The server has no endpoint of websites.
func putBucketWebsite(c call, b *bucket.Bucket, in *PutBucketWebsiteInput) (*Done, error) {
	set := in.WebsiteConfiguration
	if set == nil {
		return nil, rest.MalformedXML()
	}
	if err := checkWebsite(set); err != nil {
		return nil, err
	}
	return done(), c.keep(b, keptWebsite, func(to *bucket.Settings) { to.Website = set })
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
	case w.ErrorDocument != nil && w.ErrorDocument.Key == "", w.RoutingRule != nil && len(w.RoutingRule) == 0:
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

// getBucketWebsite is NoSuchWebsiteConfiguration where there is none.
func getBucketWebsite(_ call, b *bucket.Bucket, in *BucketInput) (*bucket.Website, error) {
	set := b.Settings().Website
	if set == nil {
		return nil, notFound(b, "NoSuchWebsiteConfiguration", "The specified bucket does not have a website configuration")
	}
	return set, nil
}

// deleteBucketWebsite succeeds also where there is no configuration (AWS's API reference, DeleteBucketWebsite).
func deleteBucketWebsite(_ call, b *bucket.Bucket, _ *BucketInput) (*Done, error) {
	return noContent(), configure(b, func(set *bucket.Settings) { set.Website = nil })
}
