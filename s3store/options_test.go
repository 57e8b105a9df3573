package s3store_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/godwitmq/godwit/s3store"
)

func TestImpossibleOptions(t *testing.T) {
	for want, o := range map[string]*s3store.Options{
		"Options.Bucket":            nil,
		"Options.Bucket is \"A\"":   {Bucket: "A"},
		"Options.Prefix is \"a b\"": {Bucket: "abc", Prefix: "a b"},
		"Options.Prefix is \"../\"": {Bucket: "abc", Prefix: "../"},
		"Options.Prefix is \"/a\"":  {Bucket: "abc", Prefix: "/a"},
		"Options.Lifetime is 1h":    {Bucket: "abc", Lifetime: time.Hour},
		"Options.Sources[1].Bucket": {Bucket: "abc", Sources: []s3store.Source{{Bucket: "def"}, {}}},
		"Options.Transport has no effect": {
			Bucket: "abc", S3: s3.New(s3.Options{}), Transport: http.DefaultTransport,
		},
	} {
		if _, err := s3store.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s: %v", want, err)
		}
	}
}

func TestLifetime(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{
		0: 60 * 24 * time.Hour, 24 * time.Hour: 24 * time.Hour, -1: 0,
	} {
		s, err := s3store.Open(t.Context(), &s3store.Options{Bucket: "abc", Lifetime: given, S3: s3.New(s3.Options{})})
		if err != nil || s.Lifetime() != want {
			t.Errorf("%v is %v, %v", given, s.Lifetime(), err)
		}
	}
}
