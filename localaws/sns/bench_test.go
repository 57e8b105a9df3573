package sns_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/sns"
	"github.com/godwitmq/godwit/localaws/wire"
)

// nowhere accepts every message and keeps none.
type nowhere struct{}

func (nowhere) Deliver(string, string, sns.QueueMessage) error { return nil }
func (nowhere) Queue(string) (sns.QueueInfo, bool)             { return sns.QueueInfo{}, true }

// BenchmarkPublish measures a publish through the HTTP handler to ten queues. An envelope is signed once for all of
// them.
func BenchmarkPublish(b *testing.B) {
	for _, name := range []string{"raw", "enveloped", "filtered"} {
		b.Run(name, func(b *testing.B) {
			c := clock.New()
			defer c.Close()
			carrier := sns.NewCarrier(sns.CarrierOptions{Clock: c})
			defer carrier.Close()
			s := sns.New(sns.Options{
				Account: account, Region: "us-east-1", Clock: c, Random: random.New(1),
				Queues: nowhere{}, Carrier: carrier,
			})
			attributes := map[string]map[string]string{
				"raw": {"RawMessageDelivery": "true"}, "enveloped": nil,
				"filtered": {"RawMessageDelivery": "true", "FilterPolicy": `{"k":[{"prefix":"MOBILE."}]}`},
			}[name]
			seed := sns.Seed{Name: "t"}
			for q := range strings.SplitSeq("0123456789", "") {
				seed.Subscriptions = append(seed.Subscriptions, sns.SeedSubscription{Queue: q, Attributes: attributes})
			}
			if err := s.Plant(b.Context(), seed, ""); err != nil {
				b.Fatal(err)
			}
			mux := wire.NewMux(wire.Options{Account: account, Region: "us-east-1", Random: random.New(2)}, s.Wire())
			form := url.Values{
				"Action": {"Publish"}, "Version": {"2010-03-31"},
				"TopicArn": {"arn:aws:sns:us-east-1:" + account + ":t"}, "Message": {strings.Repeat("x", 1024)},
				"MessageAttributes.entry.1.Name": {"k"}, "MessageAttributes.entry.1.Value.DataType": {"String"},
				"MessageAttributes.entry.1.Value.StringValue": {"MOBILE.APPLE"},
			}.Encode()
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				mux.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(form)))
				if w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
			}
		})
	}
}
