package snssqs_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/drivertest"
	"github.com/godwitmq/godwit/snssqs"
)

var (
	foreign = flag.String("endpoint", "", "the kit's endpoint in TestForeign: a server that nobody here wrote")
	queues  = flag.Bool("queues-only", false, "-endpoint has no SNS")
)

// The backend keeps the contracts of the seam on another server, in real time. A list beside localaws/interop names the
// cases that fail, and who has to fix them.
func TestForeign(t *testing.T) {
	if *foreign == "" {
		t.Skip("no -endpoint")
	}
	conf := aws.Config{
		Region: "us-east-1", BaseEndpoint: foreign,
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	}
	can := everything
	can.Exchanges, can.Lists = !*queues, !*queues
	can.Large, can.Cancels = false, false // the server may have no S3
	can.Ticks = false                     // its answers may have no time
	can.Peeks = false                     // it is not localaws
	can.Snapshots = false                 // other servers describe fewer attributes, and reserve no names
	can.Pauses = !*queues                 // it has no policies, and each pause would wait a minute for one
	var namespace string
	drivertest.Run(t, drivertest.Harness{
		Can:   can,
		Lease: 4 * time.Second, // longer than the kit's polls together
		Open: func(t testing.TB) driver.Backend {
			namespace = fmt.Sprintf("t%08x", rand.Uint32())
			b, err := snssqs.Open(t.Context(), &snssqs.Options{AWS: &conf, Namespace: namespace})
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
		DropExchange: func(t testing.TB, ch driver.Channel) {
			topics := sns.NewFromConfig(conf)
			found, err := topics.CreateTopic(t.Context(),
				&sns.CreateTopicInput{Name: aws.String(namespace + "---" + ch.Exchange)})
			if err == nil {
				_, err = topics.DeleteTopic(t.Context(), &sns.DeleteTopicInput{TopicArn: found.TopicArn})
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	})
}
