package kafka

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	signer "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-cmp/cmp"
)

// The keys of testdata/MskIam.java.
var mskKeys = AWSCredentials{
	AccessKeyID: "AKIAIOSFODNN7EXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
	SessionToken: "to+ken/with=signs",
}

const mskHost = "b-1.shop.abc123.c2.kafka.eu-west-1.amazonaws.com"

// firstMessage is what a mechanism sends first, at a time.
func firstMessage(t *testing.T, s SASL, at time.Time) (fields map[string]string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(at))
		m, err := s.mechanism()
		if err != nil {
			t.Fatal(err)
		}
		_, first, err := m.Authenticate(t.Context(), mskHost+":9098")
		if err == nil {
			err = json.Unmarshal(first, &fields)
		}
		if err != nil || m.Name() != "AWS_MSK_IAM" {
			t.Fatalf("mechanism %s: %v", m.Name(), err)
		}
	})
	return fields
}

// signature signs the fields of a message with AWS's own code.
func signature(t *testing.T, fields map[string]string, at time.Time) string {
	t.Helper()
	query := url.Values{"Action": {fields["action"]}, "X-Amz-Expires": {fields["x-amz-expires"]}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+fields["host"]+"/?"+query.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	nothing := sha256.Sum256(nil)
	signed, _, err := signer.NewSigner().PresignHTTP(t.Context(), aws.Credentials{
		AccessKeyID: mskKeys.AccessKeyID, SecretAccessKey: mskKeys.SecretAccessKey, SessionToken: mskKeys.SessionToken,
	}, r, hex.EncodeToString(nothing[:]), "kafka-cluster", "eu-west-1", at)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(signed)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("X-Amz-Signature")
}

// The message for MSK equals that of Amazon's own library, for the same time and keys; testdata/MskIam.java made
// it. Only the validity differs, 5 minutes instead of 15, and so does the signature, which is that of AWS's own code.
func TestTheTokenOfMSK(t *testing.T) {
	text, err := os.ReadFile("testdata/msk_iam.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]string
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse("20060102T150405Z", want["x-amz-date"])
	if err != nil {
		t.Fatal(err)
	}
	if got := signature(t, want, at); got != want["x-amz-signature"] {
		t.Fatalf("the test signs the message of Amazon's library as %s, not as %s", got, want["x-amz-signature"])
	}
	keys := func(context.Context) (AWSCredentials, error) { return mskKeys, nil }
	got := firstMessage(t, SASL{Mechanism: "AWS_MSK_IAM", Credentials: keys}, at)
	if sign := signature(t, got, at); got["x-amz-signature"] != sign {
		t.Errorf("the signature is %s, and AWS's code signs as %s", got["x-amz-signature"], sign)
	}
	if got["x-amz-expires"] != "300" || want["x-amz-expires"] != "900" {
		t.Errorf("valid for %s s, and with Amazon's library for %s s", got["x-amz-expires"], want["x-amz-expires"])
	}
	for _, differs := range []string{"x-amz-expires", "x-amz-signature"} {
		delete(got, differs)
		delete(want, differs)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-Amazon's +ours):\n%s", diff)
	}
}

// Without a function, the keys are those of the environment. Without keys there, or from the function, the error says
// so.
func TestCredentialsOfTheEnvironment(t *testing.T) {
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	t.Setenv("AWS_ACCESS_KEY_ID", mskKeys.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", mskKeys.SecretAccessKey)
	t.Setenv("AWS_SESSION_TOKEN", mskKeys.SessionToken)
	got := firstMessage(t, SASL{Mechanism: "AWS_MSK_IAM"}, at)
	if got["x-amz-signature"] != signature(t, got, at) || got["x-amz-security-token"] != mskKeys.SessionToken {
		t.Errorf("the message is %v", got)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	broken := errors.New("no role today")
	for says, s := range map[string]SASL{
		"AWS_SECRET_ACCESS_KEY": {Mechanism: "AWS_MSK_IAM"},
		"no role today": {
			Mechanism:   "AWS_MSK_IAM",
			Credentials: func(context.Context) (AWSCredentials, error) { return AWSCredentials{}, broken },
		},
	} {
		m, err := s.mechanism()
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = m.Authenticate(t.Context(), mskHost+":9098")
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want an error that says %q", err, says)
		}
	}
}
