package conformance

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"
)

// A case of this file makes the calls that Terraform's provider for AWS makes for the resource aws_s3_bucket, in their
// order, because the provider itself is too large to be built here. Its versions 6.23 and later tag a bucket while they
// create it, and use S3 Control; earlier ones, and those whose calls of S3 Control are refused, use PutBucketTagging.

// terraformed is what the provider reads of a bucket. If it is not what the configuration says, or not what was read
// before, the provider plans a change.
type terraformed struct {
	Region, Policy, Acceleration, Payer, Versioning, Encryption string
	Missing                                                     []string // the codes of parts that are not there
	Grants, Logging, Tags                                       []string
}

// refresh reads a bucket as the provider does.
func (b *bucket) refresh() terraformed {
	b.Helper()
	name := &b.name
	var got terraformed
	missing := func(code string, err error) bool {
		b.Helper()
		if err == nil {
			return false
		}
		if !strings.Contains(err.Error(), code) {
			b.Errorf("want %s, got %v", code, err)
		}
		got.Missing = append(got.Missing, code)
		return true
	}
	must(b.s3.HeadBucket(b.ctx, &s3.HeadBucketInput{Bucket: name}))(b.world)
	policy, err := b.s3.GetBucketPolicy(b.ctx, &s3.GetBucketPolicyInput{Bucket: name})
	if !missing("NoSuchBucketPolicy", err) {
		got.Policy = *policy.Policy
	}
	for _, g := range must(b.s3.GetBucketAcl(b.ctx, &s3.GetBucketAclInput{Bucket: name}))(b.world).Grants {
		got.Grants = append(got.Grants, string(g.Grantee.Type)+" "+string(g.Permission))
	}
	_, err = b.s3.GetBucketCors(b.ctx, &s3.GetBucketCorsInput{Bucket: name})
	missing("NoSuchCORSConfiguration", err)
	_, err = b.s3.GetBucketWebsite(b.ctx, &s3.GetBucketWebsiteInput{Bucket: name})
	missing("NoSuchWebsiteConfiguration", err)
	versioning := must(b.s3.GetBucketVersioning(b.ctx, &s3.GetBucketVersioningInput{Bucket: name}))(b.world)
	got.Versioning = string(versioning.Status)
	got.Acceleration = string(must(b.s3.GetBucketAccelerateConfiguration(b.ctx,
		&s3.GetBucketAccelerateConfigurationInput{Bucket: name}))(b.world).Status)
	got.Payer = string(must(b.s3.GetBucketRequestPayment(b.ctx,
		&s3.GetBucketRequestPaymentInput{Bucket: name}))(b.world).Payer)
	logging := must(b.s3.GetBucketLogging(b.ctx, &s3.GetBucketLoggingInput{Bucket: name}))(b.world)
	if logging.LoggingEnabled != nil {
		got.Logging = append(got.Logging, *logging.LoggingEnabled.TargetBucket)
	}
	_, err = b.s3.GetBucketLifecycleConfiguration(b.ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: name})
	missing("NoSuchLifecycleConfiguration", err)
	_, err = b.s3.GetBucketReplication(b.ctx, &s3.GetBucketReplicationInput{Bucket: name})
	missing("ReplicationConfigurationNotFoundError", err)
	for _, r := range must(b.s3.GetBucketEncryption(b.ctx,
		&s3.GetBucketEncryptionInput{Bucket: name}))(b.world).ServerSideEncryptionConfiguration.Rules {
		byDefault := r.ApplyServerSideEncryptionByDefault
		got.Encryption += fmt.Sprint(byDefault.SSEAlgorithm, " ", aws.ToBool(r.BucketKeyEnabled))
	}
	_, err = b.s3.GetObjectLockConfiguration(b.ctx, &s3.GetObjectLockConfigurationInput{Bucket: name})
	missing("ObjectLockConfigurationNotFoundError", err)
	got.Region = aws.ToString(must(b.s3.HeadBucket(b.ctx, &s3.HeadBucketInput{Bucket: name}))(b.world).BucketRegion)
	got.Tags = b.controlTags()
	return got
}

// control calls S3 Control about the bucket's tags.
func (b *bucket) control(method, query, body string) reply {
	b.Helper()
	account := "000000000000"
	r := b.request(method, "/v20180820/tags/arn%3Aaws%3As3%3A%3A%3A"+b.name+query,
		headers{"X-Amz-Account-Id", account, "Content-Type", "application/xml"}, body)
	r.Host = account + "." + r.URL.Host // as the SDK writes it
	return b.send(b.sign(*region, r))
}

func (b *bucket) controlTags() (tags []string) {
	b.Helper()
	list := b.control("GET", "", "")
	b.wants("list tags", list, 200, "")
	for _, one := range strings.Split(list.body, "<Tag>")[1:] {
		key, rest, _ := strings.Cut(strings.TrimPrefix(one, "<Key>"), "</Key><Value>")
		value, _, _ := strings.Cut(rest, "</Value>")
		tags = append(tags, key+"="+value)
	}
	slices.Sort(tags)
	return tags
}

func TestS3Terraform(t *testing.T) {
	runBucket(t, "aws_s3_bucket is applied, planned without a change, changed and destroyed", func(b *bucket) {
		b.name += "-tf"
		must(b.s3.CreateBucket(b.ctx, &s3.CreateBucketInput{
			Bucket: &b.name, CreateBucketConfiguration: &types.CreateBucketConfiguration{
				Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("a")}},
			},
		}))(b.world)
		defer b.drop(b.ctx, b.name)
		want := terraformed{
			Region: *region, Payer: "BucketOwner", Encryption: "AES256 false",
			Missing: []string{
				"NoSuchBucketPolicy", "NoSuchCORSConfiguration", "NoSuchWebsiteConfiguration",
				"NoSuchLifecycleConfiguration", "ReplicationConfigurationNotFoundError",
				"ObjectLockConfigurationNotFoundError",
			},
			Grants: []string{"CanonicalUser FULL_CONTROL"}, Tags: []string{"team=a"},
		}
		for _, step := range []string{"applied", "planned"} {
			if diff := cmp.Diff(want, b.refresh()); diff != "" {
				b.Errorf("%s (-want +got):\n%s", step, diff)
			}
		}
		b.wants("tag", b.control("POST", "", `<TagResourceRequest `+
			`xmlns="http://awss3control.amazonaws.com/doc/2018-08-20/"><Tags><Tag><Key>team</Key><Value>b</Value></Tag><Tag><Key>cost</Key><Value>7</Value></Tag></Tags>`+
			`</TagResourceRequest>`), 204, "")
		want.Tags = []string{"cost=7", "team=b"}
		if diff := cmp.Diff(want, b.refresh()); diff != "" {
			b.Errorf("changed (-want +got):\n%s", diff)
		}
		b.wants("untag", b.control("DELETE", "?tagKeys=team&tagKeys=other&tagKeys=cost", ""), 204, "")
		if tags := b.controlTags(); tags != nil {
			b.Errorf("tags after they were removed: %v", tags)
		}

		// An earlier version: it reads the tags, and puts all of them.
		_, err := b.s3.GetBucketTagging(b.ctx, &s3.GetBucketTaggingInput{Bucket: &b.name})
		b.refused(err, "NoSuchTagSet", "The TagSet does not exist")
		must(b.s3.PutBucketTagging(b.ctx, &s3.PutBucketTaggingInput{Bucket: &b.name, Tagging: &types.Tagging{
			TagSet: []types.Tag{{Key: aws.String("team"), Value: aws.String("c")}},
		}}))(b.world)
		if tags := b.controlTags(); !slices.Equal(tags, []string{"team=c"}) {
			b.Errorf("tags that were put: %v", tags)
		}

		// With force_destroy the provider deletes what is in the bucket, by version.
		b.put("k", "x")
		_, err = b.s3.DeleteBucket(b.ctx, &s3.DeleteBucketInput{Bucket: &b.name})
		b.refused(err, "BucketNotEmpty", "")
		list := must(b.s3.ListObjectVersions(b.ctx, &s3.ListObjectVersionsInput{Bucket: &b.name}))(b.world)
		for _, v := range list.Versions {
			gone := must(b.s3.DeleteObjects(b.ctx, &s3.DeleteObjectsInput{Bucket: &b.name, Delete: &types.Delete{
				Objects: []types.ObjectIdentifier{{Key: v.Key, VersionId: v.VersionId}},
			}}))(b.world)
			if len(gone.Errors) > 0 {
				b.Errorf("%+v", gone.Errors)
			}
		}
		must(b.s3.DeleteBucket(b.ctx, &s3.DeleteBucketInput{Bucket: &b.name}))(b.world)
		_, err = b.s3.HeadBucket(b.ctx, &s3.HeadBucketInput{Bucket: &b.name})
		b.refused(err, "NotFound", "")
	})
	runBucket(t, "S3 Control's errors, in a wrapper (recorded on AWS, 2025-11-28)", func(b *bucket) {
		body := func(tags string) string {
			return `<TagResourceRequest xmlns="http://awss3control.amazonaws.com/doc/2018-08-20/"><Tags>` + tags +
				`</Tags></TagResourceRequest>`
		}
		tag := func(key, value string) string {
			return "<Tag><Key>" + key + "</Key><Value>" + value + "</Value></Tag>"
		}
		const form = "This request contains a tag key or value that isn't valid."
		for name, c := range map[string]struct{ tags, code, text string }{
			"no key":      {"<Tag><Value>v</Value></Tag>", "MalformedXML", "The XML you provided"},
			"no value":    {"<Tag><Key>k</Key></Tag>", "MalformedXML", "The XML you provided"},
			"a prefix":    {tag("aws:k", "v"), "InvalidTag", "This prefix is reserved for system tags."},
			"a key twice": {tag("k", "v") + tag("k", "w"), "InvalidTag", "There are duplicate tag keys"},
			"a value":     {tag("k", "v,"), "InvalidTag", form},
			"a key":       {tag("k,", "v"), "InvalidTag", form},
		} {
			r := b.control("POST", "", body(c.tags))
			text := html.UnescapeString(r.body)
			if r.status != 400 || !r.has("<ErrorResponse><Error><Code>"+c.code+"</Code>") ||
				!strings.Contains(text, c.text) {
				b.Errorf("%s: %d %s, want %s: %s", name, r.status, r.body, c.code, c.text)
			}
		}
		b.name += "-none"
		for _, r := range []reply{
			b.control("POST", "", body(tag("k", "v"))), b.control("DELETE", "?tagKeys=k", ""), b.control("GET", "", ""),
		} {
			if r.status != 404 || !r.has("<ErrorResponse><Error><Code>NoSuchResource</Code>") {
				b.Errorf("no bucket: %d %s", r.status, r.body)
			}
		}
	})
	runBucket(t, "S3 Control tags buckets with at most fifty tags, and nothing else", func(b *bucket) {
		var many strings.Builder
		for i := range 51 {
			fmt.Fprintf(&many, "<Tag><Key>k%d</Key><Value/></Tag>", i)
		}
		for name, c := range map[string]struct {
			r      reply
			status int
			code   string
		}{
			"51 tags": {
				b.control("POST", "", "<TagResourceRequest><Tags>"+many.String()+"</Tags></TagResourceRequest>"), 400,
				"TooManyTags",
			},
			"no keys":   {b.control("DELETE", "", ""), 400, "InvalidRequest"},
			"an object": {b.control("GET", "%2Fkey", ""), 501, "NotImplemented"},
		} {
			if c.r.status != c.status || !c.r.has("<Code>"+c.code+"</Code>") {
				b.Errorf("%s: %d %s, want %d %s", name, c.r.status, c.r.body, c.status, c.code)
			}
		}
	})
}

func TestS3ObjectAttributes(t *testing.T) {
	attributes := func(b *bucket, key string, h ...string) reply {
		return b.call("GET", key+"?attributes", append(headers{
			"X-Amz-Object-Attributes", "ETag,Checksum,ObjectParts,StorageClass,ObjectSize",
		}, h...), "")
	}
	runBucket(t, "attributes of an object are those that are asked for", func(b *bucket) {
		b.put("k", "hello")
		got := attributes(b, "k")
		b.wants("all", got, 200, "")
		for _, want := range []string{
			"<ETag>5d41402abc4b2a76b9719d911017c592</ETag>", "<ChecksumType>FULL_OBJECT</ChecksumType>",
			"<StorageClass>STANDARD</StorageClass>", "<ObjectSize>5</ObjectSize>",
		} {
			if !got.has(want) {
				b.Errorf("%s is missing in %s", want, got.body)
			}
		}
		if got.has("ObjectParts") || got.header.Get("Last-Modified") == "" {
			b.Errorf("%v %s", got.header, got.body)
		}
		one := must(b.s3.GetObjectAttributes(b.ctx, &s3.GetObjectAttributesInput{
			Bucket: &b.name, Key: aws.String("k"), ObjectAttributes: []types.ObjectAttributes{"ObjectSize"},
		}))(b.world)
		if aws.ToInt64(one.ObjectSize) != 5 || one.ETag != nil || one.Checksum != nil || one.StorageClass != "" {
			b.Errorf("only the size: %+v", one)
		}
		b.wants("no object", attributes(b, "none"), 404, "NoSuchKey")
		b.wants("another version", b.call("GET", "k?attributes&versionId=x",
			headers{"X-Amz-Object-Attributes", "ETag"}, ""), 400, "InvalidArgument")
		b.wants("an unknown attribute", b.call("GET", "k?attributes",
			headers{"X-Amz-Object-Attributes", "Size"}, ""), 400, "InvalidArgument")
		b.wants("none", b.call("GET", "k?attributes", nil, ""), 400, "InvalidArgument")
		b.wants("a key that is not needed", attributes(b, "k", ownKey("x-amz-")...), 400, "InvalidRequest")
	})
	runBucket(t, "parts are counted, and listed if they have checksums of their own", func(b *bucket) {
		large := strings.Repeat("x", 5<<20)
		for _, sum := range []types.ChecksumType{types.ChecksumTypeComposite, types.ChecksumTypeFullObject} {
			key := string(sum)
			up := must(b.s3.CreateMultipartUpload(b.ctx, &s3.CreateMultipartUploadInput{
				Bucket: &b.name, Key: &key, ChecksumAlgorithm: types.ChecksumAlgorithmCrc32, ChecksumType: sum,
			}))(b.world)
			var parts []types.CompletedPart
			for n, body := range []string{large, "end"} {
				number := aws.Int32(int32(n + 1))
				p := must(b.s3.UploadPart(b.ctx, &s3.UploadPartInput{
					Bucket: &b.name, Key: &key, UploadId: up.UploadId, PartNumber: number,
					Body: strings.NewReader(body), ChecksumAlgorithm: types.ChecksumAlgorithmCrc32,
				}))(b.world)
				parts = append(parts, types.CompletedPart{
					PartNumber: number, ETag: p.ETag, ChecksumCRC32: p.ChecksumCRC32,
				})
			}
			must(b.s3.CompleteMultipartUpload(b.ctx, &s3.CompleteMultipartUploadInput{
				Bucket: &b.name, Key: &key, UploadId: up.UploadId,
				MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
			}))(b.world)
			read := func(most, marker int32) *types.GetObjectAttributesParts {
				return must(b.s3.GetObjectAttributes(b.ctx, &s3.GetObjectAttributesInput{
					Bucket: &b.name, Key: &key, MaxParts: &most, PartNumberMarker: aws.String(fmt.Sprint(marker)),
					ObjectAttributes: []types.ObjectAttributes{"ObjectParts"},
				}))(b.world).ObjectParts
			}
			first, second := read(1, 0), read(1, 1)
			switch {
			case aws.ToInt32(first.TotalPartsCount) != 2:
				b.Errorf("%s: %d parts", sum, aws.ToInt32(first.TotalPartsCount))
			case sum == types.ChecksumTypeFullObject && (first.Parts != nil || first.IsTruncated != nil):
				b.Errorf("%s: parts are listed: %+v", sum, first)
			case sum == types.ChecksumTypeComposite && (!aws.ToBool(first.IsTruncated) || len(first.Parts) != 1 ||
				aws.ToString(first.NextPartNumberMarker) != "1" || aws.ToInt64(first.Parts[0].Size) != 5<<20 ||
				aws.ToString(first.Parts[0].ChecksumCRC32) == ""):
				b.Errorf("%s: the first page: %+v", sum, first)
			case sum == types.ChecksumTypeComposite && (aws.ToBool(second.IsTruncated) || len(second.Parts) != 1 ||
				aws.ToInt64(second.Parts[0].Size) != 3):
				b.Errorf("%s: the second page: %+v", sum, second)
			}
		}
	})
}
