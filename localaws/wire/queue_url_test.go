package wire_test

import (
	"testing"

	"github.com/godwitmq/godwit/localaws/wire"
)

func TestQueuePlace(t *testing.T) {
	const account = "111122223333"
	for url, region := range map[string]string{
		"http://localhost:4566/" + account + "/q":                          "",
		"/" + account + "/q":                                               "",
		"http://localhost:4566/" + account + ".eu-west-1/q":                "eu-west-1",
		"http://localhost:4566/queue/eu-west-1/" + account + "/q":          "eu-west-1",
		"/queue/eu-west-1/" + account + "/q":                               "eu-west-1",
		"/else/eu-west-1/" + account + "/q":                                "",
		"http://eu-west-1.queue.localhost:4566/" + account + "/q":          "eu-west-1",
		"http://queue.localhost:4566/" + account + "/q":                    "",
		"http://sqs.eu-west-1.localhost:4566/" + account + "/q":            "eu-west-1",
		"https://sqs.us-gov-west-1.amazonaws.com/" + account + "/q":        "us-gov-west-1",
		"https://sqs.cn-north-1.amazonaws.com.cn/" + account + "/q":        "cn-north-1",
		"http://sqs.eu-west-1.localhost/" + account + ".us-east-1/q":       "us-east-1",
		"http://sqs.eu-west-1.localhost/queue/us-east-1/" + account + "/q": "us-east-1",
		"http://eu-west-1.localhost:4566/" + account + "/q":                "",
		"http://sqs.localhost:4566/" + account + "/q":                      "",
	} {
		if got, want := wire.QueuePlace(url), (wire.Place{Account: account, Region: region}); got != want {
			t.Errorf("%s: %+v", url, got)
		}
		if n := testing.AllocsPerRun(10, func() { wire.QueuePlace(url) }); n > 0 {
			t.Errorf("%s: %v allocations", url, n)
		}
	}
	for _, url := range []string{
		"", "q", "/q", "http://localhost/q", "http://localhost/1234/q", "http://localhost/" + account + ".nowhere/q",
		"http://localhost/" + account,
	} {
		if got := wire.QueuePlace(url); got != (wire.Place{}) {
			t.Errorf("%s: %+v", url, got)
		}
	}
}
