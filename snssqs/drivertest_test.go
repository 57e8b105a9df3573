package snssqs_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/drivertest"
	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/disk"
	"github.com/godwitmq/godwit/localaws/wire"
)

var everything = drivertest.Abilities{
	Ordered: true, Leases: true, Delays: true, Later: true, Cancels: true, Ticks: true, Retries: true,
	DeadLetters: true, Provisions: true, Inspects: true, LongPolls: true, Exchanges: true, TellsOrder: true,
	Large: true, Lists: true, Forwards: true, ToOneQueue: true, Peeks: true, Pauses: true, Purges: true, Removes: true,
	Snapshots: true, Meters: true, Access: true, Remembers: true, Plans: true, Tags: true,
}

// The backend keeps every contract of the seam, on the embedded server in virtual time.
func TestDriver(t *testing.T) { drivertest.Run(t, harness()) }

// BenchmarkDriver measures the cost of a message in the backend, the SDK and the embedded server together.
func BenchmarkDriver(b *testing.B) { drivertest.Benchmark(b, harness()) }

func harness() drivertest.Harness {
	var server *localaws.Server
	return drivertest.Harness{
		Bubble: synctest.Test,
		Can:    everything,
		Open: func(t testing.TB) driver.Backend {
			o := &localaws.Options{Seed: testSeed}
			if fullrun.On() { // the contracts hold with a server that keeps what it acknowledges, too
				store, err := disk.Open(filepath.Join(t.TempDir(), "data"), nil)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = store.Close() })
				o.Store = store
			}
			b, err := local.Open(t.Context(), &local.Options{Server: o, Cancel: true})
			if err != nil {
				t.Fatal(err)
			}
			server = b.Server()
			return b
		},
		DropExchange: func(t testing.TB, ch driver.Channel) {
			arn := "arn:aws:sns:us-east-1:000000000000:" + ch.Exchange
			if _, err := client(server).DeleteTopic(t.Context(), &sns.DeleteTopicInput{TopicArn: &arn}); err != nil {
				t.Fatal(err)
			}
		},
		Faults: drivertest.Faults{
			Throttle: func(c drivertest.Call) {
				fault(server, c, localaws.Outcome{Err: &wire.Error{Code: "RequestThrottled", Message: "Rate exceeded"}})
			},
			Deny: func(c drivertest.Call) {
				fault(server, c,
					localaws.Outcome{Err: &wire.Error{Code: "AccessDeniedException", Message: "no", Status: 403}})
			},
			LoseAnswer: func(c drivertest.Call) { fault(server, c, localaws.Outcome{DropAfter: true}) },
			FailEntry: func(c drivertest.Call, i int) {
				fault(server, c, localaws.Outcome{FailEntries: func(id string) *wire.Error {
					if id != strconv.Itoa(i) {
						return nil
					}
					return &wire.Error{Code: "InternalError", Message: "try again", Fault: true}
				}})
			},
		},
	}
}

// client is an SNS client of the test's own.
func client(s *localaws.Server) *sns.Client {
	return sns.New(sns.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws.internal"),
		Credentials: credentials.NewStaticCredentialsProvider("k", "s",
			""), HTTPClient: &http.Client{Transport: s.Transport()},
	})
}

func fault(s *localaws.Server, c drivertest.Call, o localaws.Outcome) {
	action := map[drivertest.Call]string{
		drivertest.Send: "sqs.SendMessageBatch", drivertest.SettleDone: "sqs.DeleteMessageBatch",
		drivertest.Receive: "sqs.ReceiveMessage",
	}[c]
	s.ControlOnce(action, func(context.Context, *localaws.Request) localaws.Outcome { return o })
}
