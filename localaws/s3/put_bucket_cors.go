package s3

import (
	"context"
	"slices"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// PutBucketCORSInput is the input of PutBucketCors.
type PutBucketCORSInput struct {
	Bucket            string       `rest:"bucket"`
	CORSConfiguration *bucket.CORS `rest:"payload,CORSConfiguration"`
}

const maxCORSRules = 100 // S3: rules of a bucket

// putBucketCORS keeps the rules. Which pages may call the server is an option of the server.
func (s *Service) putBucketCORS(_ context.Context, c *rest.Call, in *PutBucketCORSInput) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
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
	return done(), s.keep(b, keptCORS, func(to *bucket.Settings) { to.CORS = set })
}
