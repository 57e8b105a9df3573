package wire_test

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/localaws/wire"
)

// FuzzJSON compares the decoder with the standard library's: an accepted document must be JSON, with the same meaning.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(`{"QueueUrl":"\ud83d\ude00\u0000\/","Number":1e2,"Entries":[null,{}]}`))
	f.Add([]byte(`{"Attributes":null,"Flag":false,"TagKeys":[]}`))
	h := mux(wire.Options{})
	f.Fuzz(func(t *testing.T, body []byte) {
		w := post(h, "/", "AmazonSQS.Echo", string(body))
		if w.Code != 200 {
			return
		}
		var got echo
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("the answer is not JSON: %v\n%s", err, w.Body)
		}
		// Encoding and decoding the answer again must not change it.
		again := post(h, "/", "AmazonSQS.Echo", w.Body.String())
		if diff := cmp.Diff(w.Body.String(), again.Body.String()); diff != "" {
			t.Errorf("not stable:\n%s", diff)
		}
		var want echo
		if len(body) > 0 && json.Unmarshal(body, &want) == nil {
			if diff := cmp.Diff(want.URL, got.URL); diff != "" && json.Valid(body) && !repeated(body) {
				t.Errorf("QueueUrl (-standard +ours):\n%s", diff)
			}
		}
	})
}

// repeated reports whether a document may contain a member more than once, or in another case; for these the two
// decoders differ on purpose.
func repeated(body []byte) bool {
	var m map[string]json.RawMessage
	if json.Unmarshal(body, &m) != nil {
		return true
	}
	whole, err := json.Marshal(m)
	return err != nil || len(m) == 0 || len(whole) < len(body)/2 || m["QueueUrl"] == nil
}

// FuzzQuery: every form gets an answer, and none causes a panic.
func FuzzQuery(f *testing.F) {
	f.Add("Attribute.1.Name=A&Attribute.1.Value=1&AttributeName.1=All")
	f.Add("Entry.1.Id=a&Entry.1.DelaySeconds=0&Tags.entry.1.key=k&Tags.entry.1.value=v")
	f.Add("Attribute=&Tags=&TagKeys.member=x&Entry.=1&.=1&MessageAttribute.1.Name=n&MessageAttribute.1.Value=3")
	h := mux(wire.Options{})
	f.Fuzz(func(t *testing.T, form string) {
		values, err := url.ParseQuery(form)
		if err != nil {
			return
		}
		values.Set("Action", "Echo")
		if w := post(h, "/", "", values.Encode()); w.Code >= 500 {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	})
}
