package sns_test

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha1" // signature version 1
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssns "github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/google/go-cmp/cmp"
)

const endpoint = "http://endpoint/hook"

// document decodes the nth request that the endpoint got.
func (f *fixture) document(n int) map[string]string {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if n >= len(f.got) {
		f.Fatalf("the endpoint got %d posts, not %d", len(f.got), n+1)
	}
	var document map[string]any
	if err := json.Unmarshal([]byte(f.got[n]), &document); err != nil {
		f.Fatalf("%s: %v", f.got[n], err)
	}
	text := map[string]string{}
	for k, v := range document {
		if s, ok := v.(string); ok {
			text[k] = s
		}
	}
	return text
}

// verify checks an envelope's signature with the certificate that it names, as receivers do.
func (f *fixture) verify(document map[string]string) {
	f.Helper()
	block, _ := pem.Decode([]byte(f.visit(document["SigningCertURL"])))
	if block == nil {
		f.Fatalf("%s is not a certificate", document["SigningCertURL"])
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		f.Fatal(err)
	}
	signature, err := base64.StdEncoding.DecodeString(document["Signature"])
	if err != nil {
		f.Fatal(err)
	}
	var text strings.Builder
	for _, name := range []string{
		"Message", "MessageId", "Subject", "SubscribeURL", "Timestamp", "Token", "TopicArn",
		"Type",
	} {
		if value, ok := document[name]; ok {
			text.WriteString(name + "\n" + value + "\n")
		}
	}
	key := certificate.PublicKey.(*rsa.PublicKey)
	if document["SignatureVersion"] == "2" {
		sum := sha256.Sum256([]byte(text.String()))
		err = rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature)
	} else {
		sum := sha1.Sum([]byte(text.String()))
		err = rsa.VerifyPKCS1v15(key, crypto.SHA1, sum[:], signature)
	}
	if err != nil {
		f.Errorf("the signature of %v is wrong: %v", document, err)
	}
}

// confirmed subscribes the endpoint, confirms it, and clears the recorded requests.
func (f *fixture) confirmed(topic *string, attributes map[string]string) string {
	f.Helper()
	arn := f.subscribe(topic, "http", endpoint, attributes)
	synctest.Wait()
	f.visit(f.document(0)["SubscribeURL"])
	f.mu.Lock()
	defer f.mu.Unlock()
	f.posts, f.got = nil, nil
	return arn
}

func TestConfirmationIsAskedForAndSigned(t *testing.T) {
	for _, version := range []string{"1", "2"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			topic := f.topic("t", map[string]string{"SignatureVersion": version})
			out, err := f.client.Subscribe(f.ctx,
				&awssns.SubscribeInput{TopicArn: topic, Protocol: aws.String("http"), Endpoint: aws.String(endpoint)})
			if err != nil {
				t.Fatal(err)
			}
			if *out.SubscriptionArn != "pending confirmation" {
				t.Errorf("Subscribe answered %q", *out.SubscriptionArn)
			}
			synctest.Wait()
			document := f.document(0)
			f.verify(document)
			if document["Type"] != "SubscriptionConfirmation" || document["SignatureVersion"] != version {
				t.Errorf("got %v", document)
			}
			headers := map[string]string{}
			for name := range f.posts[0].Header {
				headers[name] = f.posts[0].Header.Get(name)
			}
			want := map[string]string{
				"Content-Type": "text/plain; charset=UTF-8", "User-Agent": "Amazon Simple Notification Service Agent",
				"Accept-Encoding":        "gzip,deflate",
				"X-Amz-Sns-Message-Type": "SubscriptionConfirmation", "X-Amz-Sns-Message-Id": document["MessageId"],
				"X-Amz-Sns-Topic-Arn": *topic,
			}
			if diff := cmp.Diff(want, headers); diff != "" {
				t.Errorf("headers: %s", diff)
			}
			f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String("too early")})
			synctest.Wait()
			if len(f.got) != 1 {
				t.Error("an unconfirmed endpoint got a message")
			}
			if answer := f.visit(document["SubscribeURL"]); !strings.Contains(answer,
				"<ConfirmSubscriptionResult><SubscriptionArn>"+*topic+":") {
				t.Errorf("confirming answered %s", answer)
			}
			f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String("é\"\n"), Subject: aws.String("s")})
			synctest.Wait()
			note := f.document(1)
			f.verify(note)
			if note["Message"] != "é\"\n" || note["Subject"] != "s" || note["Type"] != "Notification" {
				t.Errorf("got %v", note)
			}
		})
	}
}

func TestUnconfirmedSubscriptionIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		topic := f.topic("t", nil)
		f.subscribe(topic, "http", endpoint, nil)
		if n := len(f.service.Pending()); n != 1 {
			t.Fatalf("%d subscriptions are pending", n)
		}
		f.clock.Advance(48*time.Hour - time.Second)
		if len(f.service.Pending()) != 1 {
			t.Error("removed too early")
		}
		f.clock.Advance(time.Second)
		if len(f.service.Pending()) != 0 {
			t.Error("never removed")
		}
	})
}

func TestRawDeliveryOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		topic := f.topic("t", nil)
		arn := f.confirmed(topic,
			map[string]string{
				"RawMessageDelivery": "true",
				"DeliveryPolicy":     `{"requestPolicy":{"headerContentType":"text/csv"}}`,
			})
		out := f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String("a,b")})
		synctest.Wait()
		if diff := cmp.Diff([]string{"a,b"}, f.got); diff != "" {
			t.Fatal(diff)
		}
		for name, want := range map[string]string{
			"X-Amz-Sns-Rawdelivery": "true", "X-Amz-Sns-Subscription-Arn": arn, "Content-Type": "text/csv",
			"X-Amz-Sns-Message-Type": "Notification", "X-Amz-Sns-Message-Id": *out.MessageId,
		} {
			if got := f.posts[0].Header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	})
}

func TestDeliveryIsRetriedByPolicyOnTheServersClock(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		posts  int
	}{
		"server's fault":       {503, 4},
		"broken connection":    {0, 4},
		"too many requests":    {429, 4},
		"the endpoint's no":    {404, 1},
		"moved":                {302, 1},
		"taken at first sight": {204, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				topic := f.topic("t", nil)
				dead := `{"deadLetterTargetArn":"` + queue("dead") + `"}`
				f.confirmed(topic, map[string]string{"RawMessageDelivery": "true", "RedrivePolicy": dead})
				f.answer = func(int) int { return c.status }
				f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String("m")})
				synctest.Wait()
				for range 3 { // three retries, twenty seconds apart
					f.clock.Advance(20*time.Second - 1)
					synctest.Wait()
					early := len(f.got)
					f.clock.Advance(1)
					synctest.Wait()
					if c.posts > 1 && len(f.got) != early+1 {
						t.Errorf("no retry after 20s: %d posts", len(f.got))
					}
				}
				f.clock.Advance(time.Hour)
				synctest.Wait()
				if len(f.got) != c.posts {
					t.Errorf("%d posts, want %d", len(f.got), c.posts)
				}
				var want []string
				if c.status != 204 {
					want = []string{"m"}
				}
				if diff := cmp.Diff(want, f.queues.bodies("dead")); diff != "" {
					t.Errorf("dead letters: %s", diff)
				}
				if failures := f.service.Failures(); len(failures) != len(want) {
					t.Errorf("failures: %v", failures)
				}
			})
		})
	}
}

func TestSlowEndpointIsGivenUpAfterFifteenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		topic := f.topic("t", nil)
		f.confirmed(topic, map[string]string{"DeliveryPolicy": `{"healthyRetryPolicy":{"numRetries":0}}`})
		began := time.Now()
		f.answer = func(int) int { <-f.posts[0].Context().Done(); return 0 }
		f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String("m")})
		time.Sleep(16 * time.Second)
		synctest.Wait()
		failures := f.service.Failures()
		if len(failures) != 1 || failures[0].At.Sub(began) != 15*time.Second {
			t.Errorf("failures: %v", failures)
		}
	})
}

func TestThrottlePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		topic := f.topic("t", nil)
		f.confirmed(topic, map[string]string{"DeliveryPolicy": `{"throttlePolicy":{"maxReceivesPerSecond":2}}`})
		for range 5 {
			f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String("m")})
		}
		var counts []int
		for range 5 {
			synctest.Wait()
			counts = append(counts, len(f.got))
			f.clock.Advance(500 * time.Millisecond)
		}
		if diff := cmp.Diff([]int{1, 2, 3, 4, 5}, counts); diff != "" {
			t.Error(diff)
		}
	})
}

func TestUnsubscribedEndpointIsToldAndCanComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		topic := f.topic("t", nil)
		arn := f.confirmed(topic, nil)
		f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String("m")})
		synctest.Wait()
		f.visit(f.document(0)["UnsubscribeURL"])
		synctest.Wait()
		document := f.document(1)
		f.verify(document)
		if document["Type"] != "UnsubscribeConfirmation" || f.posts[1].Header.Get("X-Amz-Sns-Subscription-Arn") != arn {
			t.Errorf("got %v", document)
		}
		f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String("m")})
		synctest.Wait()
		if len(f.got) != 2 {
			t.Error("an unsubscribed endpoint got a message")
		}
		f.visit(document["SubscribeURL"])
		f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String("m")})
		synctest.Wait()
		if len(f.got) != 3 {
			t.Error("the subscription was not restored")
		}
	})
}

func TestAuthenticateOnUnsubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		topic := f.topic("t", nil)
		arn := f.subscribe(topic, "http", endpoint, nil)
		synctest.Wait()
		if _, err := f.client.ConfirmSubscription(f.ctx, &awssns.ConfirmSubscriptionInput{
			TopicArn: topic, Token: aws.String(f.document(0)["Token"]), AuthenticateOnUnsubscribe: aws.String("true"),
		}); err != nil {
			t.Fatal(err)
		}
		answer := f.visit("http://aws/?Action=Unsubscribe&SubscriptionArn=" + arn)
		if !strings.Contains(answer, "<Code>AuthorizationError</Code>") {
			t.Errorf("an unsigned request was answered %s", answer)
		}
		if _, err := f.client.Unsubscribe(f.ctx, &awssns.UnsubscribeInput{SubscriptionArn: &arn}); err != nil {
			t.Errorf("a signed one: %v", err)
		}
	})
}

func TestCloseWaitsForDeliveriesAndDropsRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		topic := f.topic("t", nil)
		f.confirmed(topic, nil)
		f.answer = func(n int) int { <-f.posts[n].Context().Done(); return 0 }
		f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String("m")})
		synctest.Wait()
		f.carrier.Close() // ends the running delivery, on which the bubble would wait
		if len(f.got) != 1 {
			t.Errorf("%d posts", len(f.got))
		}
	})
}

func TestBackoffFunctions(t *testing.T) {
	for function, want := range map[string][]float64{
		"linear":      {10, 20, 30, 40, 50},
		"arithmetic":  {10, 14, 22, 34, 50},
		"geometric":   {10, 12.666, 18, 28.666, 50},
		"exponential": {10, 11.282, 14.768, 24.243, 50},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			topic := f.topic("t", nil)
			f.confirmed(topic,
				map[string]string{"DeliveryPolicy": `{"healthyRetryPolicy":{"minDelayTarget":10,"maxDelayTarget":50,"numRetries":8,` +
					`"numNoDelayRetries":1,"numMinDelayRetries":1,"numMaxDelayRetries":1,"backoffFunction":"` +
					function + `"}}`})
			var at []time.Time
			f.answer = func(int) int { at = append(at, time.Now()); return 500 }
			f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String("m")})
			time.Sleep(time.Hour)
			synctest.Wait()
			var got []float64
			for i := range len(at) - 1 {
				got = append(got, float64(at[i+1].Sub(at[i]).Truncate(time.Millisecond))/float64(time.Second))
			}
			want := slices.Concat([]float64{0, 10}, want, []float64{50})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", function, diff)
			}
		})
	}
}

func TestNothingComesBackToATopicOfTheSameName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		topic := f.topic("t", nil)
		arn := f.confirmed(topic, nil)
		if _, err := f.client.Unsubscribe(f.ctx, &awssns.UnsubscribeInput{SubscriptionArn: &arn}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		restore := f.document(0)["SubscribeURL"]
		if _, err := f.client.DeleteTopic(f.ctx, &awssns.DeleteTopicInput{TopicArn: topic}); err != nil {
			t.Fatal(err)
		}
		f.topic("t", nil)
		if answer := f.visit(restore); !strings.Contains(answer, "Invalid parameter: Token") {
			t.Errorf("answered %s", answer)
		}
		if topics := f.service.Topics(); len(topics[0].Subscriptions) != 0 {
			t.Errorf("got %+v", topics)
		}
	})
}
