package console_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/console"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/memdriver"
)

var messageLink = regexp.MustCompile(`href="(/channel/[\w.@]+/messages/[^"?/]+)"`)

// Messages are found by id, header and body, and the page says how far it has looked.
func TestMessages(t *testing.T) {
	inWorld(t, &console.Options{}, func(w *world) {
		w.says(w.get("/channel/orders/messages"), "The channel is empty")
		for _, body := range bodies(30) {
			w.send(orders, driver.Message{Body: []byte(body), Header: []driver.Header{{Name: "n", Value: body[5:6]}}})
		}
		time.Sleep(10 * time.Second)
		page := w.get("/channel/orders/messages")
		w.says(page, "30 messages looked at, which is all there are", "c-dots", "{&#34;n&#34;:7}")
		w.says(w.get("/channel/orders/messages?filter="+url.QueryEscape(`body:":29"`)), "1 message of 30 match")
		w.says(w.get("/channel/orders/messages?filter=header:n%3D2"), "11 messages of 30 match")
		w.says(w.get("/channel/orders/messages?look=7"), "7 messages looked at, of about 30", "Look at 10")
		href := messageLink.FindStringSubmatch(page)[1]
		id := href[strings.LastIndex(href, "/")+1:]
		w.says(w.get("/channel/orders/messages?filter=id:"+id), "1 message of 30 match")
		one := w.get(href)
		w.says(one, "sent", "now", `<dt>n</dt>`, "&#34;n&#34;: 0")
		w.says(w.get(href+"?form=hex"), "7b 22 6e 22 3a 30 7d")
		w.silent(one, "Requeue") // it is no dead letter
		w.refused(w.do("GET", "/channel/orders/messages/none", nil), 404, "not there any more", "Messages of orders")
		w.refused(w.do("GET", "/channel/events.*/messages", nil), 400, "keeps no messages")
		a := w.do("GET", href+"/body", nil)
		if a.body != `{"n":0}` || !strings.HasPrefix(a.header.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%q %v", a.body, a.header)
		}
	})
}

// A body of 16 MiB shows its first KiB and a link, and is read only when somebody asks.
func TestLargeBody(t *testing.T) {
	inWorld(t, &console.Options{}, func(w *world) {
		w.send(orders, driver.Message{Body: []byte(strings.Repeat("0123456789abcdef", 1<<20))})
		page := w.get("/channel/orders/messages")
		w.says(page, "The body is in the store", "16.0 MiB")
		href := messageLink.FindStringSubmatch(page)[1]
		w.says(w.get(href), "16.0 MiB in the store", "Read it", "Download")
		page = w.get(href + "?body=whole")
		w.says(page, "the first 1.0 KiB shown", "Download")
		if n := strings.Count(page, "0123456789abcdef"); n != 64 {
			t.Errorf("%d times 16 bytes are shown", n)
		}
		if a := w.do("GET", href+"/body", nil); len(a.body) != 16<<20 {
			t.Errorf("%d bytes", len(a.body))
		}
	})
}

// What comes from messages is escaped: bodies, headers, errors, names.
func TestEscapes(t *testing.T) {
	evil := `</pre><script>alert(1)</script>"'><img src=x onerror=alert(1)>`
	inWorld(t, &console.Options{}, func(w *world) {
		w.kill(driver.Death{Error: evil + "\u202egnp.exe", Kind: "<b>kind</b>", Consumer: evil}, evil,
			"\x00\x1b[31mbinary\xff")
		for _, path := range []string{
			deadPath, deadPath + "?filter=all", "/channel/orders@dlq/messages", "/",
			"/runs",
		} {
			page := w.get(path)
			w.silent(page, "<script>alert", "<img", "<b>kind", "\u202e", "\x1b")
		}
		for _, m := range messageLink.FindAllStringSubmatch(w.get(deadPath), -1) {
			for _, form := range []string{"", "?form=text", "?form=hex"} {
				w.silent(w.get(m[1]+form), "<script>alert", "<img", "<b>kind", "\u202e", "\x1b")
			}
		}
		run := w.post("/channel/orders@dlq/plan", "kind", "requeue", "filter", "error:\"<script>alert\"")
		w.silent(w.settled(run), "<script>alert")
		w.silent(w.do("GET", "/channel/"+url.PathEscape("<script>alert(1)"), nil).body, "<script>alert")
	})
}

// Rules hide parts of messages everywhere: in lists, pages, downloads, edits, exports and filters.
func TestMask(t *testing.T) {
	o := &console.Options{Mask: console.Mask{
		Headers: []string{"Tenant"},
		Paths:   []string{"card.number", "items.*.price"},
	}}
	inWorld(t, o, func(w *world) {
		w.kill(noStock, `{"card":{"number":"41115555"},"items":[{"price":17},{"price":18,"name":"kite"}]}`,
			"no JSON 41115555")
		page := w.get(deadPath + "?filter=all")
		w.says(page, "kite")
		w.silent(page, "41115555", ":17", "globex")
		for _, m := range messageLink.FindAllStringSubmatch(page, -1) {
			one := w.get(m[1])
			w.silent(one, "41115555", "globex", "Edit and requeue")
			w.says(one, "•••")
			w.refused(w.do("GET", m[1]+"/body", nil), 403, "hidden")
			w.refused(w.do("POST", m[1]+"/edit", values("body", "x")), 400, "hidden")
		}
		for _, f := range []string{"body:41115555", "header:tenant=globex"} {
			w.refused(w.do("GET", deadPath+"?filter="+f, nil), 403, "hidden")
		}
		w.refused(w.do("POST", "/channel/orders@dlq/plan", values("kind", "export", "filter", "all")), 403, "hidden")
		run := w.post("/channel/orders@dlq/plan", "kind", "requeue", "filter", "all")
		w.says(w.settled(run), "2 messages")
	})
}

// A message with a trace has a link to it, where the options say the address of traces.
func TestTraces(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e0091"
	for at, wrong := range map[string]bool{
		"javascript:alert('{trace}')": true, "https://traces.example.com/": true, "{trace}": true,
		"https://traces.example.com/{trace}": false, "": false,
	} {
		c, err := console.New(new(memdriver.Backend), &console.Options{Traces: at})
		if (err != nil) != wrong {
			t.Errorf("%s: %v", at, err)
		}
		if err == nil {
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	for parent, link := range map[string]string{
		"00-" + id + "-00f067aa0ba902b7-01": `<a href="https://traces.example.com/` + id + `?a=b" rel="noreferrer">00-`,
		"00-" + strings.ToUpper(id):         "", "\"><script>": "",
	} {
		inWorld(t, &console.Options{Traces: "https://traces.example.com/{trace}?a=b"}, func(w *world) {
			w.send(orders, driver.Message{
				Body: []byte("a"), Header: []driver.Header{{Name: "traceparent", Value: parent}},
			})
			path := messageLink.FindStringSubmatch(w.get("/channel/orders/messages"))[1]
			if page := w.get(path); link != "" {
				w.says(page, link)
			} else {
				w.silent(page, "traces.example.com")
			}
		})
	}
}
