package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// With the names of the programs, the command finds channels whose topics and groups have other names.
func TestNames(t *testing.T) {
	onBrokers(t)
	owner, err := kafka.Open(t.Context(), nil)
	if err == nil {
		err = owner.Ensure(t.Context(), driver.ChannelSpec{Channel: driver.Channel{Queue: "shop"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = owner.Close(context.Background()) }()
	b, err := kafka.Open(t.Context(), &kafka.Options{Names: map[string]kafka.Resource{
		"orders": {Topic: "shop", Group: "billing service"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	p, err := godwit.NewProducer(t.Context(), b, "orders", nil)
	if err == nil {
		err = p.Send(t.Context(), godwit.Message{Body: []byte("a book")})
	}
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "names.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"orders": {"topic": "shop", "group": "billing service"}}`)
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"ls", exitDone, "orders"},
		{"peek orders", exitDone, "a book"},
		{"rewind orders --to end", exitDone, "--yes"},
		{"purge orders", exitDone, "1 message"},
	} {
		var out, errOut bytes.Buffer
		args := append(strings.Fields(c.args), "--names", file)
		if status := run(t.Context(), args, &out, &errOut); status != c.status ||
			!strings.Contains(out.String()+errOut.String(), c.says) {
			t.Errorf("%s: status %d: %s%s", c.args, status, &out, &errOut)
		}
	}
	for text, says := range map[string]string{
		`{"orders": {"topics": "shop"}}`:     `unknown field "topics"`,
		`{"orders": {"topic": "shop"}} {}`:   "more after the first value",
		`["orders"]`:                         "is not a JSON object of channels",
		`{"orders.v1.x": {"topic": "shop"}}`: "it is not the name of a channel",
	} {
		write(text)
		var out, errOut bytes.Buffer
		if status := run(t.Context(), []string{"ls", "--names", file}, &out, &errOut); status == exitDone ||
			!strings.Contains(errOut.String(), says) {
			t.Errorf("%s: status %d: %s", text, status, &errOut)
		}
	}
}
