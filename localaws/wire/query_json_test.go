package wire_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/localaws/wire"
)

// A query request that accepts JSON, or asks for it as boto 2 does, is answered in JSON: maps that are flat are lists,
// absent members are null, and errors have AWS's form.
func TestQueryAnswersInJSON(t *testing.T) {
	const form = "Action=Echo&QueueUrl=u&AttributeName.1=a&Attribute.1.Name=n&Attribute.1.Value=v&" +
		"MessageAttribute.1.Name=m&MessageAttribute.1.Value.StringValue=x&Entry.1.Id=e&Entry.2.DelaySeconds=5&Tags.entry.1.key=k&" +
		"Tags.entry.1.value=%22w%22&Number=7"
	const answer = `{"EchoResponse":{"EchoResult":{"QueueUrl":"u","AttributeNames":["a"],` +
		`"Attributes":[{"Name":"n","Value":"v"}],` +
		`"MessageAttributes":[{"Name":"m","Value":{"StringValue":"x","BinaryValue":null}}],` +
		`"Entries":[{"Id":"e","DelaySeconds":null},{"Id":null,"DelaySeconds":5}],"TagKeys":null,"Tags":{"k":"\"w\""},"Flag":false,"Number":7},` +
		`"ResponseMetadata":{"RequestId":"ID"}}}`
	for _, c := range []struct{ accept, body, kind, want string }{
		{"application/json", form, "application/json", answer},
		{"", form + "&ContentType=JSON", "application/json", answer},
		{"*/*", form, "text/xml", ""},
		{"text/xml, application/json", form, "text/xml", ""},
		{
			"application/json", "Action=Refuse", "application/json",
			`{"Error":{"Code":"AWS.SimpleQueueService.NonExistentQueue","Message":"no for this wsdl version.",` +
				`"Type":"Sender"},"RequestId":"ID"}`,
		},
		{
			"application/json", "Action=Fail", "application/json",
			`{"Error":{"Code":"InternalFailure","Message":"broken","Type":"Receiver"},"RequestId":"ID"}`,
		},
		{
			"application/json", "Action=None", "application/json",
			`{"Error":{"Code":"InvalidAction","Message":"The action None is not valid for this endpoint.",` +
				`"Type":"Sender"},"RequestId":"ID"}`,
		},
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Accept", c.accept)
		w := httptest.NewRecorder()
		mux(wire.Options{}).ServeHTTP(w, r)
		if got := w.Header().Get("Content-Type"); got != c.kind {
			t.Errorf("%s, Accept %q: Content-Type %q", c.body, c.accept, got)
		}
		id := w.Header()["x-amzn-RequestId"] //nolint:staticcheck // it is not canonical, as on AWS
		want := strings.Replace(c.want, "ID", id[0], 1)
		if got := w.Body.String(); c.want != "" && got != want {
			t.Errorf("%s, Accept %q:\n%s\nwant\n%s", c.body, c.accept, got, want)
		}
	}
}
