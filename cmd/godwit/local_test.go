package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"
)

// The command prints exports that work, serves until it is stopped, and ends with status 0 and a closed port.
func TestLocalServesUntilStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, printed := io.Pipe()
	var errOut bytes.Buffer
	ended := make(chan int)
	go func() {
		status := run(ctx, []string{"local", "--addr", "127.0.0.1:0", "--region", "eu-west-1"}, printed, &errOut)
		printed.Close()
		ended <- status
	}()
	exports := map[string]string{}
	lines := bufio.NewScanner(out)
	for len(exports) < 5 && lines.Scan() {
		name, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "=")
		exports[name] = value
	}
	endpoint := exports["AWS_ENDPOINT_URL"]
	want := map[string]string{
		"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-1",
		"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
	}
	if diff := cmp.Diff(want, exports); diff != "" {
		t.Fatalf("exports (-want +got):\n%s\nerrors: %s", diff, &errOut)
	}
	answer, err := http.Get(endpoint + "/_localaws/health")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("health answered %s", answer.Status)
	}
	stop()
	if status := <-ended; status != exitDone {
		t.Errorf("status %d after a stop, want %d; errors: %s", status, exitDone, &errOut)
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(endpoint, "http://")); err == nil {
		conn.Close()
		t.Error("the port is still open after the stop")
	}
	if !regexp.MustCompile(`--random-seed [1-9]\d* `).Match(errOut.Bytes()) {
		t.Errorf("the random seed is not printed: %s", &errOut)
	}
	if strings.Contains(errOut.String(), "warning") {
		t.Errorf("a warning on loopback: %s", &errOut)
	}
}

// A port that is in use is an error with a hint.
func TestLocalPortTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var out, errOut bytes.Buffer
	if status := run(t.Context(), []string{"local", "--addr", taken.Addr().String()}, &out,
		&errOut); status != exitFailed {
		t.Errorf("status %d, want %d", status, exitFailed)
	}
	if !strings.Contains(errOut.String(), "--addr 127.0.0.1:0 chooses a free port") {
		t.Errorf("errors: %s", &errOut)
	}
}

// An address for all interfaces causes a warning, and is printed as an address that this machine can dial.
func TestEndpoint(t *testing.T) {
	for _, c := range []struct {
		listens, endpoint string
		beyond            bool
	}{
		{"127.0.0.1:4566", "http://127.0.0.1:4566", false},
		{"[::1]:4566", "http://[::1]:4566", false},
		{"0.0.0.0:4566", "http://127.0.0.1:4566", true},
		{"[::]:4566", "http://127.0.0.1:4566", true},
		{"192.0.2.7:80", "http://192.0.2.7:80", true},
	} {
		addr := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.listens))
		if got := endpoint(addr); got != c.endpoint {
			t.Errorf("%s: endpoint %s, want %s", c.listens, got, c.endpoint)
		}
		if got := beyondLoopback(addr.String()); got != c.beyond {
			t.Errorf("%s: beyond loopback %v, want %v", c.listens, got, c.beyond)
		}
	}
}

// The resources of a seed file exist before the exports are printed. An error in the file names the file and the line,
// and nothing is served.
func TestLocalSeed(t *testing.T) {
	seed := func(text string) string {
		path := filepath.Join(t.TempDir(), "seed.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, printed := io.Pipe()
	var errOut bytes.Buffer
	ended := make(chan int)
	go func() {
		status := run(ctx,
			[]string{
				"local", "--addr", "127.0.0.1:0", "--init",
				filepath.Dir(seed(`{"queues": [{"name": "orders"}]}`)), "--init-must",
			}, printed, &errOut)
		printed.Close()
		ended <- status
	}()
	lines := bufio.NewScanner(out)
	lines.Scan()
	endpoint := strings.TrimPrefix(lines.Text(), "export AWS_ENDPOINT_URL=")
	go func() { _, _ = io.Copy(io.Discard, out) }()
	answer, err := http.PostForm(endpoint,
		url.Values{"Action": {"GetQueueUrl"}, "Version": {"2012-11-05"}, "QueueName": {"orders"}})
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("the seeded queue does not exist: %s", answer.Status)
	}
	stop()
	if status := <-ended; status != exitDone {
		t.Errorf("status %d, want %d; errors: %s", status, exitDone, &errOut)
	}

	var said, complained bytes.Buffer
	status := run(t.Context(),
		[]string{
			"local", "--addr", "127.0.0.1:0", "--seed",
			seed("{\n\"queues\": [{\"nmae\": \"a\"}]}"),
		}, &said, &complained)
	if status != exitFailed || said.Len() > 0 {
		t.Errorf("status %d, want %d; it printed %q", status, exitFailed, &said)
	}
	if want := `seed.json:2: queues[0]: unknown field "nmae"`; !strings.Contains(complained.String(), want) {
		t.Errorf("errors %q, want one with %s", &complained, want)
	}
}

// Requests work in the region that they are signed for, also with another --region; with --single-region, in that one.
func TestLocalRegions(t *testing.T) {
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{nil, "arn:aws:sqs:eu-west-1:000000000000:q"},
		{[]string{"--single-region"}, "arn:aws:sqs:us-west-2:000000000000:q"},
	} {
		ctx, stop := context.WithCancel(t.Context())
		out, printed := io.Pipe()
		var errOut bytes.Buffer
		ended := make(chan int)
		go func() {
			args := append([]string{"local", "--addr", "127.0.0.1:0", "--region", "us-west-2"}, c.flags...)
			status := run(ctx, args, printed, &errOut)
			printed.Close()
			ended <- status
		}()
		lines := bufio.NewScanner(out)
		lines.Scan()
		endpoint := strings.TrimPrefix(lines.Text(), "export AWS_ENDPOINT_URL=")
		go func() { _, _ = io.Copy(io.Discard, out) }()
		client := sqs.New(sqs.Options{
			Region: "eu-west-1", BaseEndpoint: &endpoint,
			Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		})
		if _, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("q")}); err != nil {
			t.Fatal(err)
		}
		answer, err := http.Get(endpoint + "/_localaws/queues")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || !strings.Contains(string(text), c.want) {
			t.Errorf("%v: the list of queues is %s, %v, want %s", c.flags, text, err, c.want)
		}
		stop()
		if status := <-ended; status != exitDone {
			t.Errorf("status %d; errors: %s", status, &errOut)
		}
	}
}
