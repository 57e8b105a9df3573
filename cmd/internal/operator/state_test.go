package operator

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/godwitmq/godwit/s3store"
)

// An address names a bucket and a key; other texts are refused, by ParseState or by Open.
func TestParseState(t *testing.T) {
	for _, c := range []struct {
		address, bucket, key string
		wrong                string
	}{
		{address: "s3://acme/alerts.json", bucket: "acme", key: "alerts.json"},
		{address: "s3://acme/prod/alerts.json", bucket: "acme", key: "prod/alerts.json"},
		{address: "s3://acme", bucket: "acme", wrong: "StateOptions.Key"},
		{address: "s3://acme/a/../b", bucket: "acme", key: "a/../b", wrong: "StateOptions.Key"},
		{address: "s3:///alerts.json", wrong: "s3://bucket/key"},
		{address: "alerts.json", wrong: "s3://bucket/key"},
		{address: "", wrong: "s3://bucket/key"},
	} {
		s, err := ParseState(c.address)
		if s.Bucket != c.bucket || s.Key != c.key {
			t.Errorf("%q: %+v", c.address, s)
		}
		if err == nil {
			_, err = s.Open(t.Context(), &s3store.StateOptions{AWS: &aws.Config{Region: "eu-west-1"}})
		}
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%q: %v", c.address, err)
		}
	}
}
