package console_test

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/console"
	"github.com/godwitmq/godwit/driver"
)

const deadPath = "/channel/orders@dlq/dead"

// The dead letters are grouped by the shape of their error, and a filter selects some.
func TestDead(t *testing.T) {
	inWorld(t, &console.Options{}, func(w *world) {
		w.says(w.get("/channel/mails@dlq/dead"), "No dead letters")
		w.kill(noStock, bodies(5)...)
		time.Sleep(time.Hour)
		w.kill(driver.Death{Error: "no stock for article 99", Kind: "exhausted"}, `{"a":1}`)
		w.kill(driver.Death{Error: "took 30s", Kind: "timeout"}, `{"b":1}`, `{"b":2}`)
		page := w.get(deadPath)
		w.says(page, "8 dead letters in 2 groups", "no stock for article &lt;n&gt;", "c-heat-map",
			"which is all there are")
		w.silent(page, "With what is selected")
		group := regexp.MustCompile(`href="(/channel/orders@dlq/dead\?filter=group%3A\w+)"`).FindStringSubmatch(page)
		if group == nil {
			t.Fatal("no link to a group")
		}
		w.says(w.get(group[1]), "6 messages selected", "With what is selected", "6 messages of 8 match")
		block := regexp.MustCompile(`filter=group%3A\w+\+from%3A[^"]+`).FindString(page)
		w.says(w.get(deadPath+"?"+strings.ReplaceAll(block, "&amp;", "&")), "5 messages selected", "c-selected")
		w.says(w.get(deadPath+"?filter="+url.QueryEscape("kind:timeout body:\"b\\\":2\"")), "1 message selected")
		w.says(w.get(deadPath+"?filter=all"), "8 messages selected")
		a := w.do("GET", deadPath+"?filter="+url.QueryEscape("kind:a colour:<b>"), nil)
		w.refused(a, 400, "does not parse at column 8", "kind:a colour:&lt;b&gt;\n       ^")
	})
}

// A message that SQS itself has moved to the dead letters has the time at which it was sent: the pages say that, and
// nothing of a time of death.
func TestDeadByTheService(t *testing.T) {
	inWorld(t, &console.Options{}, func(w *world) {
		err := w.local.Ensure(w.Context(), driver.ChannelSpec{Channel: mails, Owner: true, MaxReceives: 1})
		if err != nil {
			t.Fatal(err)
		}
		w.send(mails, driver.Message{Body: []byte("a")})
		time.Sleep(time.Hour)
		for n := range 2 {
			if got := w.each(mails, 1, func(*driver.Delivery) driver.Settlement {
				return driver.Settlement{Action: driver.Release}
			}); len(got) != 1-n {
				t.Fatalf("receive %d: %q", n+1, got)
			}
		}
		page := w.get("/channel/mails@dlq/dead")
		w.says(page, "1 dead letter in 1 group", "The service gave no reason", "sent 1 h", "by the time sent",
			"unknown; sent 2000-01-01 00:00:00")
		link := regexp.MustCompile(`href="(/channel/mails@dlq/messages/[^"]+)"`).FindStringSubmatch(page)
		w.says(w.get(link[1]), "<strong>sent</strong><time>2000-01-01 00:00:00",
			"died: the service gave no reason</strong><time>time unknown", "does not tell when")
		w.silent(w.get(link[1]), "came to the dead letters</strong>")
	})
}

// The life of a dead letter begins when it was sent, not when its copy came to the dead letters.
func TestLifeOfADeadLetter(t *testing.T) {
	inWorld(t, &console.Options{}, func(w *world) {
		w.send(orders, driver.Message{Body: []byte("a")})
		time.Sleep(time.Minute)
		w.each(orders, 1, func(*driver.Delivery) driver.Settlement {
			death := driver.Death{Error: "no", Kind: "exhausted", Last: time.Now()}
			time.Sleep(time.Second)
			return driver.Settlement{Action: driver.Reject, Death: &death}
		})
		link := regexp.MustCompile(`href="(/channel/orders@dlq/messages/[^"]+)"`).FindStringSubmatch(w.get(deadPath))
		w.says(w.get(link[1]), "<strong>sent</strong><time>2000-01-01 00:00:00",
			"died: exhausted</strong><time>2000-01-01 00:01:00",
			"came to the dead letters</strong><time>2000-01-01 00:01:01")
	})
}

// Somebody who may see figures sees groups, and no text of an error or a message.
func TestDeadFigures(t *testing.T) {
	inWorld(t, &console.Options{Level: console.LevelFigures}, func(w *world) {
		w.kill(driver.Death{Error: "card 4111 declined", Kind: "permanent"}, `{"secret":"kite"}`)
		page := w.get(deadPath + "?filter=all")
		w.says(page, "card &lt;n&gt; declined", "1 message selected")
		w.silent(page, "card 4111", "kite", "With what is selected", "Requeue")
		for _, f := range []string{"body:kite", "header:tenant=globex", "error:4111"} {
			w.refused(w.do("GET", deadPath+"?filter="+f, nil), 403, "your level is figures")
		}
		w.refused(w.do("GET", "/channel/orders/messages", nil), 403, "needs bodies")
	})
}

// A requeue is planned, confirmed and done; a small one needs no name. The audit log has it.
func TestRequeue(t *testing.T) {
	inWorld(t, &console.Options{}, func(w *world) {
		w.kill(noStock, bodies(120)...)
		w.kill(driver.Death{Error: "slow", Kind: "timeout"}, "late")
		run := w.post("/channel/orders@dlq/plan", "kind", "requeue", "filter", "kind:timeout")
		w.says(w.settled(run), "1 message", "Would go to orders", ">planned<", "Stay: not selected", "120")
		w.post(run + "/start")
		w.says(w.settled(run), ">done<", "Sent to orders")
		if got := w.take(orders); !slices.Equal(got, []string{"late"}) {
			t.Errorf("%q", got)
		}
		run = w.post("/channel/orders@dlq/plan", "kind", "requeue", "filter", "all", "rate", "50")
		w.says(w.settled(run), "120 messages", "to confirm")
		w.refused(w.do("POST", run+"/start", values()), 400, "Not confirmed", "orders@dlq")
		w.refused(w.do("POST", run+"/start", values("confirm", "orders")), 400, "Not confirmed")
		w.post(run+"/start", "confirm", "orders@dlq")
		w.says(w.get(run), ">running<", "Cancel", `http-equiv="refresh"`)
		w.says(w.settled(run), ">done<")
		if got := w.take(orders); len(got) != 100 {
			t.Errorf("%d messages", len(got))
		}
		w.says(w.get("/runs"), "Requeue orders@dlq", "kind:timeout", "this machine", "started", "done")
	})
}

// A run that is canceled keeps what it has done. Two people who requeue the same see each other.
func TestRequeueTwoPeople(t *testing.T) {
	inWorld(t, &console.Options{}, func(w *world) {
		w.kill(noStock, bodies(90)...)
		first := w.post("/channel/orders@dlq/plan", "kind", "requeue", "filter", "kind:exhausted", "rate", "1")
		second := w.post("/channel/orders@dlq/plan", "kind", "requeue", "filter", "kind:exhausted")
		w.settled(first)
		w.settled(second)
		w.post(first + "/start")
		w.refused(w.do("POST", first+"/start", values()), 409, "It is too late", "running", "this machine")
		w.refused(w.do("POST", second+"/start", values()), 409, "Somebody else is at it", first)
		time.Sleep(20 * time.Second)
		w.post(first + "/cancel")
		w.says(w.settled(first), ">canceled<", "canceled by this machine")
		moved := len(w.take(orders))
		if moved < 10 || moved > 40 {
			t.Errorf("%d messages were sent in 20 seconds", moved)
		}
		w.refused(w.do("POST", first+"/cancel", values()), 409, "It is too late")
		w.refused(w.do("GET", "/runs/99", nil), 404, "No such run")
		time.Sleep(20 * time.Minute)
		w.says(w.get(second), "too old to be started")
		w.refused(w.do("POST", second+"/start", values()), 409, "plan it again")
	})
}

// What selects nothing, or means nothing, is refused.
func TestPlansThatMakeNoSense(t *testing.T) {
	inWorld(t, &console.Options{}, func(w *world) {
		w.kill(noStock, bodies(2)...)
		for _, c := range []struct {
			form   []string
			status int
			says   string
		}{
			{[]string{"kind", "requeue"}, 400, "it is empty"},
			{[]string{"kind", "requeue", "filter", "  "}, 400, "it is empty"},
			{[]string{"kind", "discard", "filter", "all"}, 400, "purge the channel"},
			{[]string{"kind", "dance", "filter", "all"}, 400, "there is no action"},
			{[]string{"kind", "requeue", "filter", "all", "rate", "-1"}, 400, "the rate"},
			{[]string{"kind", "requeue", "filter", "all", "most", "x"}, 400, "the number of messages"},
			{[]string{"kind", "requeue", "filter", "all", "deaths", "x"}, 400, "the number of deaths"},
			{[]string{"kind", "requeue", "filter", "all", "edit", ".a"}, 400, "no expressions"},
			{[]string{"kind", "requeue", "filter", "older:x"}, 400, "column 7"},
		} {
			w.refused(w.do("POST", "/channel/orders@dlq/plan", values(c.form...)), c.status, c.says)
		}
		w.refused(w.do("POST", "/channel/gone@dlq/plan", values("kind", "purge")), 404, "The channel is gone")
		run := w.post("/channel/orders@dlq/plan", "kind", "requeue", "filter", "all", "to", "nowhere")
		w.says(w.settled(run), ">failed<", "does not exist")
		if got := w.take(driver.Channel{Queue: "orders", DeadLetter: true}); len(got) != 2 {
			t.Errorf("%q", got)
		}
	})
}

// Selected dead letters are deleted, and a purge asks for the name.
func TestDiscardAndPurge(t *testing.T) {
	inWorld(t, &console.Options{}, func(w *world) {
		w.kill(noStock, bodies(3)...)
		w.kill(driver.Death{Error: "slow", Kind: "timeout"}, "late")
		run := w.post("/channel/orders@dlq/plan", "kind", "discard", "filter", "kind:timeout")
		w.says(w.settled(run), "Would be deleted", "1 message")
		w.post(run + "/start")
		w.says(w.settled(run), ">done<", "Deleted")
		run = w.post("/channel/orders@dlq/plan", "kind", "purge")
		w.says(w.settled(run), "3 messages", "to confirm")
		w.refused(w.do("POST", run+"/start", values("confirm", "yes")), 400, "Not confirmed")
		w.post(run+"/start", "confirm", "orders@dlq")
		w.says(w.settled(run), ">done<")
		time.Sleep(time.Minute)
		w.says(w.get(deadPath), "No dead letters")
	})
}

// An export is a file, which outlives the console in a folder of one's own.
func TestExport(t *testing.T) {
	folder := t.TempDir()
	inWorld(t, &console.Options{Folder: folder}, func(w *world) {
		w.kill(noStock, bodies(3)...)
		run := w.post("/channel/orders@dlq/plan", "kind", "export", "filter", "all")
		w.says(w.settled(run), "In the channel")
		w.refused(w.do("GET", run+"/file", nil), 404, "no file")
		w.post(run + "/start")
		w.says(w.settled(run), ">done<", "Download the file")
		a := w.do("GET", run+"/file", nil)
		if a.status != 200 || strings.Count(a.body, "\n") != 3 ||
			!strings.Contains(a.header.Get("Content-Disposition"), "attachment") {
			t.Errorf("%d %v: %s", a.status, a.header, a.body)
		}
	})
	files, _ := filepath.Glob(filepath.Join(folder, "*"))
	log, err := os.ReadFile(filepath.Join(folder, "audit.jsonl"))
	if len(files) != 2 || err != nil || !strings.Contains(string(log), `"action":"export"`) {
		t.Errorf("%q, %s, %v", files, log, err)
	}
}

// notYet is an expression that is true of bodies that contain it, and that replaces them.
type notYet string

func (n notYet) Selects(body []byte) (bool, error) {
	return strings.Contains(string(body), string(n)), nil
}

func (n notYet) Edit(body []byte) ([]byte, error) {
	return []byte(strings.ReplaceAll(string(body), string(n), "mended")), nil
}

// One message is edited in a form, and several by an expression.
func TestEdit(t *testing.T) {
	o := &console.Options{Expression: func(text string) (console.Expression, error) {
		if text == "(" {
			return nil, errors.New("unexpected end")
		}
		return notYet(text), nil
	}}
	inWorld(t, o, func(w *world) {
		w.kill(noStock, `{"currency":"broken"}`, `{"currency":"EUR"}`, "third")
		page := w.get(deadPath + "?filter=body:third")
		href := regexp.MustCompile(`href="(/channel/orders@dlq/messages/[^"]+)"`).FindStringSubmatch(page)[1]
		w.says(w.get(href), "Edit and requeue", "third</textarea>", "died: exhausted", "no stock for article 17",
			"3 attempts", "by shop-1", "tenant")
		run := w.post(href+"/edit", "body", "fourth\r\nline")
		w.says(w.settled(run), "Before: third", "After: fourth line", "1 message")
		w.post(run + "/start")
		w.settled(run)
		if got := w.take(orders); !slices.Equal(got, []string{"fourth\nline"}) {
			t.Errorf("%q", got)
		}
		w.refused(w.do("GET", href, nil), 404, "not there any more")
		run = w.post("/channel/orders@dlq/plan", "kind", "requeue", "filter", "jq:broken", "edit", "broken")
		w.says(w.settled(run), "1 message", "mended")
		w.post(run + "/start")
		w.settled(run)
		if got := w.take(orders); !slices.Equal(got, []string{`{"currency":"mended"}`}) {
			t.Errorf("%q", got)
		}
		w.refused(w.do("POST", "/channel/orders@dlq/plan", values("kind", "requeue", "filter", "all", "edit", "(")),
			400,
			"The edit does not parse", "unexpected end")
		w.refused(w.do("POST", href+"/edit", values("x", "y")), 400, "no body")
	})
}

// receiving is a backend whose service can only receive.
type receiving struct{ driver.Backend }

func (r receiving) Operations() driver.Operations {
	do := driver.OperationsOf(r.Backend)
	do.Peek = nil
	return do
}

// Where messages can only be received, somebody is asked first; what was found is then shown to all.
func TestLookByReceiving(t *testing.T) {
	inWrapped(t, &console.Options{}, func(b driver.Backend) driver.Backend { return receiving{b} }, func(w *world) {
		w.kill(noStock, bodies(3)...)
		w.says(w.get(deadPath), "This service can only receive messages", "Receive and look")
		to := w.post("/channel/orders@dlq/look", "filter", "", "back", deadPath)
		page := w.get(to)
		w.says(page, "3 dead letters in 1 group", "Receive and look again")
		time.Sleep(time.Minute)
		w.says(w.get(deadPath), "3 dead letters", "Looked 1 min")
		href := regexp.MustCompile(`href="(/channel/orders@dlq/messages/[^"]+)"`).FindStringSubmatch(page)[1]
		w.says(w.get(href), "no stock for article 17", "&#34;n&#34;:")
		w.refused(w.do("GET", "/channel/orders@dlq/messages/other", nil), 404, "cannot be looked up")
		w.says(w.get("/runs"), "Look by receiving orders@dlq")
		if got := w.take(driver.Channel{Queue: "orders", DeadLetter: true}); len(got) != 3 {
			t.Errorf("%q", got)
		}
	})
}
