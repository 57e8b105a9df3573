package s3store_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/s3store"
)

// A bucket that the store creates is private, encrypted and tagged, and deletes what nothing else deletes.
func TestEnsureCreates(t *testing.T) {
	inWorld(t, func(w *world) {
		s := w.open(s3store.Options{
			Encryption: "key", Tags: map[string]string{"team": "orders", "env": "prod"}, Prefix: "big/",
		})
		w.ensure(s, driver.Auto)
		name := aws.String(bucket)
		block, err := w.s3.GetPublicAccessBlock(w.Context(), &s3.GetPublicAccessBlockInput{Bucket: name})
		if err != nil || !*block.PublicAccessBlockConfiguration.RestrictPublicBuckets ||
			!*block.PublicAccessBlockConfiguration.BlockPublicAcls {
			t.Errorf("public access: %v", err)
		}
		policy, err := w.s3.GetBucketPolicy(w.Context(), &s3.GetBucketPolicyInput{Bucket: name})
		if err != nil || !strings.Contains(*policy.Policy, "aws:SecureTransport") {
			t.Errorf("policy: %v", err)
		}
		encryption, err := w.s3.GetBucketEncryption(w.Context(), &s3.GetBucketEncryptionInput{Bucket: name})
		if err != nil {
			t.Fatal(err)
		}
		rule := encryption.ServerSideEncryptionConfiguration.Rules[0]
		if *rule.ApplyServerSideEncryptionByDefault.KMSMasterKeyID != "key" || !*rule.BucketKeyEnabled {
			t.Errorf("encryption: %+v", rule)
		}
		tags, err := w.s3.GetBucketTagging(w.Context(), &s3.GetBucketTaggingInput{Bucket: name})
		if err != nil || len(tags.TagSet) != 2 {
			t.Errorf("tags: %v", err)
		}
		if diff := cmp.Diff([]string{"godwit payloads big/ 60 2"}, w.rules()); diff != "" {
			t.Errorf("lifecycle (-want +got):\n%s", diff)
		}
		if n := w.calls(func() { w.ensure(s, driver.Auto); w.ensure(s, driver.Verify) }); n != 0 {
			t.Errorf("%d calls for a bucket that was ensured", n)
		}
	})
}

// The policy of a bucket in China or GovCloud has ARNs of that partition, without which S3 refuses it.
func TestEnsureInOtherPartitions(t *testing.T) {
	for region, partition := range map[string]string{
		"eu-west-1": "aws", "cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov",
	} {
		inWorld(t, func(w *world) {
			w.conf.Region = region
			w.ensure(w.open(s3store.Options{}), driver.Auto)
			there := s3.NewFromConfig(w.conf, func(o *s3.Options) { o.UsePathStyle = true })
			policy, err := there.GetBucketPolicy(w.Context(), &s3.GetBucketPolicyInput{Bucket: aws.String(bucket)})
			if err != nil || !strings.Contains(*policy.Policy, `"arn:`+partition+`:s3:::`+bucket+`/*"`) {
				t.Errorf("%s: %v: %+v", region, err, policy)
			}
		})
	}
}

// rules describes the lifecycle of the bucket: id, days, and days of uploads.
func (w *world) rules() (all []string) {
	w.Helper()
	out, err := w.s3.GetBucketLifecycleConfiguration(w.Context(),
		&s3.GetBucketLifecycleConfigurationInput{Bucket: aws.String(bucket)})
	if err != nil {
		w.Fatal(err)
	}
	for _, r := range out.Rules {
		text := *r.ID
		if r.Expiration != nil && r.Expiration.Days != nil {
			text += " " + days(*r.Expiration.Days)
		}
		if r.AbortIncompleteMultipartUpload != nil {
			text += " " + days(*r.AbortIncompleteMultipartUpload.DaysAfterInitiation)
		}
		all = append(all, text)
	}
	return all
}

func days(n int32) string { return strconv.Itoa(int(n)) }

// A look says where objects are, and after how many days S3 deletes them by any rule. It changes nothing.
func TestLook(t *testing.T) {
	inWorld(t, func(w *world) {
		s := w.open(s3store.Options{Prefix: "big/"})
		if _, err := s.Look(w.Context()); driver.ClassOf(err) != driver.NotFound {
			t.Errorf("a look at no bucket: %v", err)
		}
		w.create(bucket)
		for _, c := range []struct {
			filter *types.LifecycleRuleFilter
			days   int
		}{
			{nil, 0},
			{&types.LifecycleRuleFilter{Prefix: aws.String("others/")}, 0},
			{&types.LifecycleRuleFilter{Tag: &types.Tag{Key: aws.String("k"), Value: aws.String("v")}}, 0},
			{&types.LifecycleRuleFilter{Prefix: aws.String("")}, 7},
			{&types.LifecycleRuleFilter{Prefix: aws.String("big/")}, 7},
		} {
			if c.filter != nil {
				_, err := w.s3.PutBucketLifecycleConfiguration(w.Context(), &s3.PutBucketLifecycleConfigurationInput{
					Bucket: aws.String(bucket), LifecycleConfiguration: &types.BucketLifecycleConfiguration{
						Rules: []types.LifecycleRule{{
							ID: aws.String("r"), Status: types.ExpirationStatusEnabled, Filter: c.filter,
							Expiration: &types.LifecycleExpiration{Days: aws.Int32(7)},
						}},
					},
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			want := s3store.Place{Bucket: bucket, Prefix: "big/", Days: c.days}
			if got, err := s.Look(w.Context()); err != nil || got != want {
				t.Errorf("%+v: %+v, %v, want %+v", c.filter, got, err, want)
			}
		}
	})
}

// The rules of others stay, and so does a longer rule of the store. A shorter one is replaced.
func TestEnsureKeepsOthersRules(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create(bucket)
		if _, err := w.s3.PutBucketLifecycleConfiguration(w.Context(), &s3.PutBucketLifecycleConfigurationInput{
			Bucket: aws.String(bucket), LifecycleConfiguration: &types.BucketLifecycleConfiguration{
				Rules: []types.LifecycleRule{{
					ID: aws.String("theirs"), Status: types.ExpirationStatusEnabled,
					Filter:     &types.LifecycleRuleFilter{Prefix: aws.String("logs/")},
					Expiration: &types.LifecycleExpiration{Days: aws.Int32(9)},
				}},
			},
		}); err != nil {
			t.Fatal(err)
		}
		const day = 24 * time.Hour
		for _, c := range []struct {
			o    s3store.Options
			want []string
		}{
			{s3store.Options{Prefix: "a/", Lifetime: 30 * day}, []string{"theirs 9", "godwit payloads a/ 30 2"}},
			{s3store.Options{Prefix: "b/"}, []string{"theirs 9", "godwit payloads a/ 30 2", "godwit payloads b/ 60 2"}},
			{
				s3store.Options{Prefix: "a/", Lifetime: 40 * day},
				[]string{"theirs 9", "godwit payloads b/ 60 2", "godwit payloads a/ 40 2"},
			},
			{
				s3store.Options{Prefix: "a/", Lifetime: 35 * day},
				[]string{"theirs 9", "godwit payloads b/ 60 2", "godwit payloads a/ 40 2"},
			},
			{
				s3store.Options{Prefix: "a/", Lifetime: -1},
				[]string{"theirs 9", "godwit payloads b/ 60 2", "godwit payloads a/ 2"},
			},
		} {
			w.ready(c.o)
			if diff := cmp.Diff(c.want, w.rules()); diff != "" {
				t.Errorf("%+v (-want +got):\n%s", c.o, diff)
			}
		}
		if _, err := w.s3.GetBucketPolicy(w.Context(),
			&s3.GetBucketPolicyInput{Bucket: aws.String(bucket)}); err == nil {
			t.Error("the policy of a bucket that exists was changed")
		}
	})
}

// Verify compares, and Never makes no call.
func TestEnsureModes(t *testing.T) {
	inWorld(t, func(w *world) {
		s := w.open(s3store.Options{})
		if n := w.calls(func() { w.ensure(s, driver.Never) }); n != 0 {
			t.Errorf("Never makes %d calls", n)
		}
		if err := s.Ensure(w.Context(), driver.Verify); driver.ClassOf(err) != driver.NotFound {
			t.Errorf("Verify without a bucket: %v", err)
		}
		w.create(bucket)
		err := s.Ensure(w.Context(), driver.Verify)
		if driver.ClassOf(err) != driver.NotFound || !strings.Contains(err.Error(), "60 days") {
			t.Errorf("Verify without a rule: %v", err)
		}
		w.ready(s3store.Options{Lifetime: 20 * 24 * time.Hour})
		err = s.Ensure(w.Context(), driver.Verify)
		if err == nil || !strings.Contains(err.Error(), "20 days") || !strings.Contains(err.Error(), "60") {
			t.Errorf("Verify with a shorter rule: %v", err)
		}
		w.ready(s3store.Options{})
		w.ensure(s, driver.Verify)
		w.refuse("s3.HeadBucket")
		err = w.open(s3store.Options{}).Ensure(w.Context(), driver.Auto)
		if driver.ClassOf(err) != driver.Denied || !strings.Contains(err.Error(), "s3:ListBucket") ||
			!strings.Contains(err.Error(), "ProvisionNever") {
			t.Errorf("a bucket that may not be read: %v", err)
		}
	})
}

// A bucket that is deleted under a process is an outage for its readers. The next write creates it again, with its
// protection and lifecycle, if the process may create it; then the old objects are missing.
func TestABucketThatIsDeleted(t *testing.T) {
	inWorld(t, func(w *world) {
		s := w.ready(s3store.Options{})
		never := w.open(s3store.Options{})
		w.ensure(never, driver.Never)
		remove := func(at driver.Location) {
			t.Helper()
			_, err := w.s3.DeleteObject(w.Context(), &s3.DeleteObjectInput{Bucket: &at.Bucket, Key: &at.Key})
			if err == nil {
				_, err = w.s3.DeleteBucket(w.Context(), &s3.DeleteBucketInput{Bucket: &at.Bucket})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		at := w.put(s, []byte("x"))
		for _, body := range [][]byte{[]byte("y"), large()} {
			remove(at)
			if _, err := w.read(s, at); driver.ClassOf(err) != driver.Transient {
				t.Errorf("a read: %v, of class %s", err, driver.ClassOf(err))
			}
			if _, err := never.Put(w.Context(), "", strings.NewReader("y"), 1); driver.ClassOf(err) != driver.NotFound {
				t.Errorf("a write of a store that creates nothing: %v", err)
			}
			old := at
			at = w.put(s, body)
			if got, err := w.read(s, at); err != nil || len(got) != len(body) {
				t.Errorf("read %d of %d bytes, %v", len(got), len(body), err)
			}
			if _, err := w.read(s, old); driver.ClassOf(err) != driver.NotFound {
				t.Errorf("the object of the old bucket: %v", err)
			}
			if diff := cmp.Diff([]string{"godwit payloads  60 2"}, w.rules()); diff != "" {
				t.Errorf("lifecycle (-want +got):\n%s", diff)
			}
			if _, err := w.s3.GetBucketPolicy(w.Context(),
				&s3.GetBucketPolicyInput{Bucket: aws.String(bucket)}); err != nil {
				t.Errorf("policy: %v", err)
			}
		}
	})
}
