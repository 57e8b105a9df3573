package conformance

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"
)

// sts returns a client with credentials; nil: those of the world.
func (w *world) sts(keys aws.CredentialsProvider) *sts.Client {
	if keys == nil {
		keys = w.keys
	}
	return sts.New(sts.Options{Region: *region, BaseEndpoint: &w.endpoint, HTTPClient: w.http, Credentials: keys})
}

func static(c *types.Credentials) aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider(*c.AccessKeyId, *c.SecretAccessKey, *c.SessionToken)
}

const (
	role      = "arn:aws:iam::333344445555:role/team/worker"
	roleInUse = "arn:aws:sts::333344445555:assumed-role/worker/deploy-7"
)

// On AWS the role has to exist, and to trust the caller.
func TestAssumeRole(t *testing.T) {
	run(t, "a role in another account (recorded on AWS, 2024-06-05 and 2026-02-09)", func(w *world) {
		if *endpoint != "" {
			w.Skip("needs a role")
		}
		out := must(w.sts(nil).AssumeRole(w.ctx, &sts.AssumeRoleInput{
			RoleArn: aws.String(role), RoleSessionName: aws.String("deploy-7"), SourceIdentity: aws.String("ada"),
			ExternalId: aws.String("x"), DurationSeconds: aws.Int32(900),
			Policy:     aws.String(`{"Version":"2012-10-17"}`),
			PolicyArns: []types.PolicyDescriptorType{{Arn: aws.String("arn:aws:iam::aws:policy/ReadOnlyAccess")}},
			Tags:       []types.Tag{{Key: aws.String("Team"), Value: aws.String("a")}},
			ProvidedContexts: []types.ProvidedContext{
				{ProviderArn: aws.String(role), ContextAssertion: aws.String("abcd")},
			},
			SerialNumber: aws.String("arn:aws:iam::333344445555:mfa/ada"), TokenCode: aws.String("123456"),
			TransitiveTagKeys: []string{"team"},
		}))(w)
		id := *out.AssumedRoleUser.AssumedRoleId
		if *out.AssumedRoleUser.Arn != roleInUse ||
			!strings.HasPrefix(id, "AROA") || !strings.HasSuffix(id, ":deploy-7") ||
			len(id) != len("AROA")+17+len(":deploy-7") || *out.SourceIdentity != "ada" ||
			!strings.HasPrefix(*out.Credentials.AccessKeyId, "ASIA") || out.Credentials.Expiration.IsZero() {
			w.Errorf("%s, %s, %+v", *out.AssumedRoleUser.Arn, id, out.Credentials)
		}
		me := must(w.sts(static(out.Credentials)).GetCallerIdentity(w.ctx, &sts.GetCallerIdentityInput{}))(w)
		if *me.Account != "333344445555" || *me.Arn != roleInUse || *me.UserId != id {
			w.Errorf("the role is %s, %s, %s", *me.Account, *me.Arn, *me.UserId)
		}
		key := must(w.sts(nil).GetAccessKeyInfo(w.ctx,
			&sts.GetAccessKeyInfoInput{AccessKeyId: out.Credentials.AccessKeyId}))(w)
		if *key.Account != "333344445555" {
			w.Errorf("the key is of %s", *key.Account)
		}
		again := must(w.sts(static(out.Credentials)).GetSessionToken(w.ctx, &sts.GetSessionTokenInput{
			SerialNumber: aws.String("arn:aws:iam::333344445555:mfa/ada"), TokenCode: aws.String("123456"),
		}))(w)
		me = must(w.sts(static(again.Credentials)).GetCallerIdentity(w.ctx, &sts.GetCallerIdentityInput{}))(w)
		if *me.Arn != roleInUse {
			w.Errorf("a session of the role is %s", *me.Arn)
		}
	})
}

// A chain of the SDK assumes the role, and what it makes belongs to the role's account.
func TestCredentialChain(t *testing.T) {
	run(t, "what an SDK makes with a role is in the account of the role", func(w *world) {
		if *endpoint != "" {
			w.Skip("needs a role")
		}
		keys := aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(w.sts(nil), role))
		client := sqs.New(sqs.Options{
			Region: *region, BaseEndpoint: &w.endpoint, HTTPClient: w.http, Credentials: keys,
		})
		q := must(client.CreateQueue(w.ctx, &sqs.CreateQueueInput{QueueName: aws.String("of-the-role")}))(w)
		if !strings.Contains(*q.QueueUrl, "/333344445555/") {
			w.Errorf("the queue is %s", *q.QueueUrl)
		}
	})
}

func TestSessionTokens(t *testing.T) {
	run(t, "the caller stays who it is (AWS's page of GetSessionToken)", func(w *world) {
		began := time.Now()
		out := must(w.sts(nil).GetSessionToken(w.ctx, &sts.GetSessionTokenInput{
			DurationSeconds: aws.Int32(3600),
		}))(w)
		if lasts := out.Credentials.Expiration.Sub(began); lasts < 50*time.Minute || lasts > 70*time.Minute {
			w.Errorf("it lasts %s", lasts)
		}
		asked := must(w.sts(nil).GetCallerIdentity(w.ctx, &sts.GetCallerIdentityInput{}))(w)
		me := must(w.sts(static(out.Credentials)).GetCallerIdentity(w.ctx, &sts.GetCallerIdentityInput{}))(w)
		if *me.Arn != *asked.Arn || *me.Account != *asked.Account || *me.UserId != *asked.UserId {
			w.Errorf("%s became %s", *asked.Arn, *me.Arn)
		}
	})
}

func TestRecordedRoleRefusals(t *testing.T) {
	run(t, "what is no role, no name, no duration, no tag (recorded on AWS, 2025-04-10 to 2026-02-09)", func(w *world) {
		name := strings.Repeat("s", 65)
		const pattern = "failed to satisfy constraint: Member must satisfy regular expression pattern: "
		for _, c := range []struct {
			in         sts.AssumeRoleInput
			code, text string
		}{
			{arnIs("nothing-valid-in-here"), "ValidationError", "nothing-valid-in-here is invalid"},
			{arnIs("arn::b:::something/test-role"), "ValidationError", "arn::b:::something/test-role is invalid"},
			{arnIs("arn:a::::something/test-role"), "ValidationError", "arn:a::::something/test-role is invalid"},
			{arnIs("arn:a:::something/test-role"), "ValidationError", "arn:a:::something/test-role is invalid"},
			{arnIs("arn:a:a::aaaaaaaaaa:"), "ValidationError", "arn:a:a::aaaaaaaaaa: is invalid"},
			{
				sts.AssumeRoleInput{RoleSessionName: aws.String("Session1:2")},
				"ValidationError",
				"1 validation error detected: Value 'Session1:2' at 'roleSessionName' " + pattern + `[\w+=,.@-]*`,
			},
			{
				sts.AssumeRoleInput{RoleSessionName: &name},
				"ValidationError",
				"1 validation error detected: Value '" + name + "' at 'roleSessionName' failed to satisfy " +
					"constraint: Member must have length less than or equal to 64",
			},
			{
				sts.AssumeRoleInput{DurationSeconds: aws.Int32(60)},
				"ValidationError",
				"1 validation error detected: Value '60' at 'durationSeconds' failed to satisfy constraint: " +
					"Member must have value greater than or equal to 900",
			},
			{
				sts.AssumeRoleInput{
					Tags:              []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}},
					TransitiveTagKeys: []string{"x"},
				},
				"InvalidParameterValue",
				"The specified transitive tag key must be included in the requested tags.",
			},
			{
				sts.AssumeRoleInput{Tags: []types.Tag{
					{Key: aws.String("k"), Value: aws.String("v")}, {Key: aws.String("K"), Value: aws.String("w")},
				}},
				"InvalidParameterValue",
				"Duplicate tag keys found. Please note that Tag keys are case insensitive.",
			},
		} {
			in := c.in
			if in.RoleArn == nil {
				in.RoleArn = aws.String(role)
			}
			if in.RoleSessionName == nil {
				in.RoleSessionName = aws.String("one")
			}
			_, err := w.sts(nil).AssumeRole(w.ctx, &in)
			w.refusedAs(err, 400, c.code, c.text)
		}
	})
}

func arnIs(arn string) sts.AssumeRoleInput { return sts.AssumeRoleInput{RoleArn: &arn} }
