package localaws_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/godwitmq/godwit/localaws"
)

// bucketClient returns a client of a server in process. Hosts name buckets unless path is set.
func bucketClient(server *localaws.Server, path bool) *s3.Client {
	return s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws"), UsePathStyle: path,
		HTTPClient:  &http.Client{Transport: server.Transport()},
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""), RetryMaxAttempts: 1,
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
	})
}

// TestControl: actions of S3 Control that are not about tags of buckets are refused by name, whatever their method.
func TestControl(t *testing.T) {
	server, err := localaws.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	for _, target := range []string{
		"PUT accesspoint/a", "DELETE accesspoint/a", "GET accesspoint", "POST jobs",
		"PUT configuration/publicAccessBlock", "PUT tags/arn%3Aaws%3As3%3A%3A%3Aphotos", "GET ",
	} {
		method, path, _ := strings.Cut(target, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, "http://localaws/v20180820/"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Amz-Account-Id", "000000000000")
		answer, err := server.Transport().RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != 501 || !bytes.Contains(body, []byte("<Code>NotImplemented</Code>")) ||
			!bytes.Contains(body, []byte("S3 Control, apart from the tags of buckets, is not implemented")) || err != nil {
			t.Errorf("%s: %d %s %v", target, answer.StatusCode, body, err)
		}
	}
}

// TestObjects: an object is written, read, listed and deleted, whether the path or the host names the bucket.
func TestObjects(t *testing.T) {
	for _, path := range []bool{true, false} {
		server, err := localaws.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { server.Close() })
		ctx, c := t.Context(), bucketClient(server, path)
		if _, err := c.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String("photos")}); err != nil {
			t.Fatal(err)
		}
		put, err := c.PutObject(ctx, &s3.PutObjectInput{
			Bucket: aws.String("photos"), Key: aws.String("a/ö +%25.jpg"), Body: strings.NewReader("hello"),
			ContentType: aws.String("image/jpeg"), Metadata: map[string]string{"owner": "ada"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if *put.ETag != `"5d41402abc4b2a76b9719d911017c592"` || *put.ChecksumCRC32 != "NhCmhg==" ||
			put.ServerSideEncryption != "AES256" || put.ChecksumType != "FULL_OBJECT" {
			t.Errorf("put: %+v", put)
		}
		got, err := c.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String("photos"), Key: aws.String("a/ö +%25.jpg")})
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(got.Body)
		if string(text) != "hello" || err != nil || got.Metadata["owner"] != "ada" || *got.ContentType != "image/jpeg" {
			t.Errorf("get: %q %v %+v", text, err, got)
		}
		list, err := c.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: aws.String("photos")})
		if err != nil || len(list.Contents) != 1 || *list.Contents[0].Key != "a/ö +%25.jpg" {
			t.Errorf("list: %+v %v", list, err)
		}
		_, err = c.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: aws.String("photos")})
		wantCode(t, err, "BucketNotEmpty")
		if _, err := c.DeleteObject(ctx, &s3.DeleteObjectInput{
			Bucket: aws.String("photos"), Key: aws.String("a/ö +%25.jpg"),
		}); err != nil {
			t.Error(err)
		}
		_, err = c.HeadObject(ctx, &s3.HeadObjectInput{Bucket: aws.String("photos"), Key: aws.String("a/ö +%25.jpg")})
		wantCode(t, err, "NotFound")
		_, err = c.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String("photos"), Key: aws.String("a/ö +%25.jpg")})
		var missing *types.NoSuchKey
		if !errors.As(err, &missing) {
			t.Errorf("get of a deleted object: %v", err)
		}
		if _, err := c.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: aws.String("photos")}); err != nil {
			t.Error(err)
		}
		if n := server.Calls()["s3.PutObject"]; n != 1 {
			t.Errorf("%d calls of s3.PutObject are counted, want 1", n)
		}
	}
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var e smithy.APIError
	if !errors.As(err, &e) || e.ErrorCode() != code {
		t.Errorf("error %v, want %s", err, code)
	}
}

// TestBreaksOfBodies: a control breaks a body on its way up and down. What was broken on its way up is not stored.
func TestBreaksOfBodies(t *testing.T) {
	server, err := localaws.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	ctx, c := t.Context(), bucketClient(server, true)
	if _, err := c.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String("photos")}); err != nil {
		t.Fatal(err)
	}
	put := func() error {
		_, err := c.PutObject(ctx, &s3.PutObjectInput{
			Bucket: aws.String("photos"), Key: aws.String("k"), Body: bytes.NewReader(make([]byte, 3<<20)),
		})
		return err
	}
	cut := func(o localaws.Outcome) func(context.Context, *localaws.Request) localaws.Outcome {
		return func(context.Context, *localaws.Request) localaws.Outcome { return o }
	}
	server.ControlOnce("s3.PutObject", cut(localaws.Outcome{BreakRequest: 2 << 20}))
	if err := put(); err == nil {
		t.Error("a broken upload succeeds")
	}
	if n, _ := server.S3().Bucket("photos").Count(); n != 0 {
		t.Errorf("%d objects after a broken upload", n)
	}
	if err := put(); err != nil {
		t.Fatal(err)
	}
	server.ControlOnce("s3.GetObject", cut(localaws.Outcome{BreakResponse: 1000}))
	got, err := c.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String("photos"), Key: aws.String("k")})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, got.Body); n != 1000 || err == nil {
		t.Errorf("a broken download has %d bytes and the error %v, want 1000 and an error", n, err)
	}
}
