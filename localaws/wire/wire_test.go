package wire_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/wire"
)

// attribute and echo belong to a small service: Echo returns its input.
type attribute struct {
	Text   string `json:"StringValue"`
	Binary []byte `json:"BinaryValue"`
}

// identified is embedded: its members are members of an entry.
type identified struct {
	ID string `json:"Id"`
}

type entry struct {
	identified
	Delay *int32 `json:"DelaySeconds"`
}

type echo struct {
	URL     string               `json:"QueueUrl"`
	Names   []string             `json:"AttributeNames" query:"AttributeName,flat"`
	Values  map[string]string    `json:"Attributes" query:"Attribute,or=Attrs,flat,key=Name,value=Value"`
	Typed   map[string]attribute `json:"MessageAttributes" query:"MessageAttribute,flat,key=Name,value=Value"`
	Entries []entry              `json:"Entries" query:"Entry,flat"`
	Nested  []string             `json:"TagKeys"`
	Deep    map[string]string    `json:"Tags"`
	Flag    bool                 `json:"Flag"`
	Number  int64                `json:"Number"`
}

type nothing struct{}

func service() *wire.Service {
	return &wire.Service{
		Name: "sqs", Target: "AmazonSQS", Namespace: "com.amazonaws.sqs",
		Version: "2012-11-05", XMLNS: "http://queue.amazonaws.com/doc/2012-11-05/", PathMember: "QueueUrl",
		Actions: []wire.Action{
			wire.Op("Echo", func(_ context.Context, _ *wire.Call, in *echo) (*echo, error) { return in, nil }),
			wire.Op("Refuse", func(context.Context, *wire.Call, *nothing) (*nothing, error) {
				return nil, &wire.Error{
					Code: "QueueDoesNotExist", Query: "AWS.SimpleQueueService.NonExistentQueue",
					Message: "no", QueryMessage: "no for this wsdl version.",
				}
			}),
			wire.Op("Fail", func(context.Context, *wire.Call, *nothing) (*nothing, error) {
				return nil, errors.New("broken")
			}),
		},
	}
}

func mux(o wire.Options) http.Handler {
	o.Account, o.Region, o.Random = "000000000000", "us-east-1", random.New(1)
	return wire.NewMux(o, service())
}

func post(h http.Handler, path, target, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	if target != "" {
		r.Header.Set("X-Amz-Target", target)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const whole = `{"QueueUrl":"http://h/1/q","AttributeNames":["All","Policy"],"Attributes":{"A":"1","B":"\"<é\\\n\u0001"},` +
	`"MessageAttributes":{"n":{"StringValue":"x","BinaryValue":"AAEC"}},` +
	`"Entries":[{"Id":"a","DelaySeconds":0},{"Id":"b"}],"TagKeys":["k"],"Tags":{"k":"v"},"Flag":true,"Number":-7}`

func TestJSONThereAndBack(t *testing.T) {
	w := post(mux(wire.Options{}), "/", "AmazonSQS.Echo", " "+strings.ReplaceAll(whole, ":", " : ")+"\n")
	want := strings.ReplaceAll(whole, "http:", "http : ")
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := w.Header().Get("Content-Type"); got != "application/x-amz-json-1.0" {
		t.Errorf("Content-Type %q", got)
	}
}

func TestQueryThereAndBack(t *testing.T) {
	form := "Action=Echo&Version=2012-11-05&AWSAccessKeyId=x&Signature=y&AttributeName.2=Policy&AttributeName.1=All" +
		"&Attribute.1.Name=A&Attribute.1.Value=1&MessageAttribute.1.Name=n&MessageAttribute.1.Value.StringValue=%3Cx%26%0D" +
		"&MessageAttribute.1.Value.BinaryValue=AAEC&Entry.1.Id=a&Entry.1.DelaySeconds=0&Entry.2.Id=b" +
		"&TagKeys.member.1=k&Tags.entry.1.key=k&Tags.entry.1.value=v&Flag=true&Number=-7"
	w := post(mux(wire.Options{}), "/1/q", "", form)
	body := w.Body.String()
	from, to := strings.Index(body, "<EchoResult>"), strings.Index(body, "<ResponseMetadata>")
	if from < 0 || to < 0 {
		t.Fatalf("answer: %s", body)
	}
	want := `<EchoResult><QueueUrl>http://example.com/1/q</QueueUrl><AttributeName>All</AttributeName><AttributeName>Policy</AttributeName>` +
		`<Attribute><Name>A</Name><Value>1</Value></Attribute>` +
		`<MessageAttribute><Name>n</Name><Value><StringValue>&lt;x&amp;&#xD;</StringValue><BinaryValue>AAEC</BinaryValue></Value></MessageAttribute>` +
		`<Entry><Id>a</Id><DelaySeconds>0</DelaySeconds></Entry><Entry><Id>b</Id></Entry>` +
		`<TagKeys><member>k</member></TagKeys><Tags><entry><key>k</key><value>v</value></entry></Tags><Flag>true</Flag><Number>-7</Number></EchoResult>`
	if diff := cmp.Diff(want, body[from:to]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJSONScalarsBecomeText(t *testing.T) {
	w := post(mux(wire.Options{}), "/", "AmazonSQS.Echo",
		`{"QueueUrl":7,"Attributes":{"A":true,"B":1.5,"C":null},"Flag":null}`)
	if diff := cmp.Diff(`{"QueueUrl":"7","Attributes":{"A":"true","B":"1.5"},"Flag":false,"Number":0}`,
		w.Body.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOldQueryFormsWithoutNumbers(t *testing.T) {
	w := post(mux(wire.Options{}), "/1/q", "",
		"Action=Echo&Attribute.Name=A&Attribute.Value=1&AttributeName=All&TagKeys=")
	for _, want := range []string{
		"<Attribute><Name>A</Name><Value>1</Value></Attribute>",
		"<AttributeName>All</AttributeName>",
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s is not in %s", want, w.Body)
		}
	}
}

// Botocore sends an empty list or map under the member's name in the model, not under the name of its items.
func TestQueryEmptyLists(t *testing.T) {
	w := post(mux(wire.Options{}), "/", "",
		"Action=Echo&AttributeNames=&Attributes=&Entries=&TagKeys=&Tags=&QueueUrl=x")
	if w.Code != 200 ||
		!strings.Contains(w.Body.String(), "<EchoResult><QueueUrl>x</QueueUrl><TagKeys></TagKeys><Tags></Tags><Flag>") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestAFormIsQueryWhateverItsTarget(t *testing.T) {
	r := httptest.NewRequest("POST", "/", strings.NewReader("Action=Echo&QueueUrl=x"))
	r.Header.Set("X-Amz-Target", "AmazonSQSv20121105.Echo")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded;charset=utf-8")
	w := httptest.NewRecorder()
	mux(wire.Options{}).ServeHTTP(w, r)
	if !strings.Contains(w.Body.String(), "<EchoResult><QueueUrl>x</QueueUrl>") {
		t.Error(w.Body)
	}
}

func TestQuerySecondName(t *testing.T) {
	w := post(mux(wire.Options{}), "/", "", "Action=Echo&Attrs.1.Name=A&Attrs.1.Value=1")
	if want := "<Attribute><Name>A</Name><Value>1</Value></Attribute>"; !strings.Contains(w.Body.String(), want) {
		t.Errorf("%s is not in %s", want, w.Body)
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct{ name, target, body, code, text string }{
		{"unknown member", "AmazonSQS.Echo", `{"Foo":1}`, "UnknownParameter", "Foo of Echo"},
		{
			"unknown nested member", "AmazonSQS.Echo", `{"Entries":[{"Bar":1}]}`, "UnknownParameter",
			"Entries.Bar of Echo",
		},
		{
			"wrong kind", "AmazonSQS.Echo", `{"Number":"1"}`, "SerializationException",
			"STRING_VALUE can not be converted to an Integer (Number)",
		},
		{
			"structure for a text", "AmazonSQS.Echo", `{"QueueUrl":{}}`, "SerializationException",
			"Start of structure or map found where not expected.",
		},
		{
			"list for a text", "AmazonSQS.Echo", `{"Attributes":{"A":[]}}`, "SerializationException",
			"Unrecognized collection type class java.lang.String",
		},
		{
			"list for a number", "AmazonSQS.Echo", `{"Number":[]}`, "SerializationException",
			"Start of list found where not expected",
		},
		{"no word for a text", "AmazonSQS.Echo", `{"QueueUrl":nope}`, "SerializationException", "the body is not JSON"},
		{"fraction", "AmazonSQS.Echo", `{"Number":1.5}`, "SerializationException", "whole number"},
		{
			"too large", "AmazonSQS.Echo", `{"Entries":[{"DelaySeconds":3000000000}]}`, "SerializationException",
			"32 bits",
		},
		{"cut off", "AmazonSQS.Echo", `{"QueueUrl":"x`, "SerializationException", "end of QueueUrl"},
		{"cut off after a name", "AmazonSQS.Echo", `{"QueueUrl"`, "SerializationException", "colon"},
		{"trailing", "AmazonSQS.Echo", `{} {}`, "SerializationException", "end of the document"},
		{"bare control", "AmazonSQS.Echo", "{\"QueueUrl\":\"a\x01\"}", "SerializationException", "control character"},
		{"lone surrogate", "AmazonSQS.Echo", `{"QueueUrl":"\ud800"}`, "SerializationException", "escape"},
		{"not UTF-8", "AmazonSQS.Echo", "{\"QueueUrl\":\"\xff\"}", "SerializationException", "UTF-8"},
		{
			"bad base64", "AmazonSQS.Echo", `{"MessageAttributes":{"a":{"BinaryValue":"!"}}}`, "SerializationException",
			"base64",
		},
		{"unknown action", "AmazonSQS.Nope", `{}`, "InvalidAction", "AmazonSQS.Nope"},
		{"unknown service", "AmazonXYZ.Nope", `{}`, "InvalidAction", "AmazonXYZ.Nope"},
		{
			"typed", "AmazonSQS.Refuse", `{}`, "AWS.SimpleQueueService.NonExistentQueue",
			"com.amazonaws.sqs#QueueDoesNotExist",
		},
		{"untyped", "AmazonSQS.Fail", ``, "InternalFailure", "broken"},
		{"query: unknown", "", "Action=Echo&Foo.1=x", "UnknownParameter", "Foo.1 of Echo"},
		{
			"query: a list that is not empty under its own name", "", "Action=Echo&AttributeNames=All",
			"UnknownParameter",
			"AttributeNames of Echo",
		},
		{
			"query: both names of one", "", "Action=Echo&Attribute.1.Name=A&Attrs.1.Name=B", "MalformedQueryString",
			"Attribute and Attrs",
		},
		{"query: unknown nested", "", "Action=Echo&Entry.1.Bar=x", "UnknownParameter", "Entry.1.Bar of Echo"},
		{"query: unknown entry part", "", "Action=Echo&Attribute.1.Nmae=x", "MalformedQueryString", "Attribute.1.Nmae"},
		{"query: no number", "", "Action=Echo&Tags.entry.x.key=k", "MalformedQueryString", "Tags.x.key"},
		{"query: twice", "", "Action=Echo&QueueUrl=a&QueueUrl=b", "MalformedQueryString", "2 times"},
		{"query: not a number", "", "Action=Echo&Number=x", "MalformedInput", "not an integer"},
		{"query: not a boolean", "", "Action=Echo&Flag=yes", "MalformedInput", "true or false"},
		{"query: no action", "", "Version=2012-11-05", "MissingAction", "Action"},
		{
			"query: unknown action", "", "Action=Nope&Version=2012-11-05", "InvalidAction",
			"The action Nope is not valid for this endpoint.",
		},
		{"query: typed", "", "Action=Refuse", "AWS.SimpleQueueService.NonExistentQueue", "no for this wsdl version."},
	}
	h := mux(wire.Options{})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := post(h, "/", test.target, test.body)
			if w.Code < 400 {
				t.Errorf("status %d", w.Code)
			}
			code := w.Header().Get("X-Amzn-Query-Error") + w.Body.String()
			if !strings.Contains(code, test.code) || !strings.Contains(w.Body.String(), test.text) {
				t.Errorf("%s %s\nwant code %s and %q in it", code, w.Body, test.code, test.text)
			}
		})
	}
}

func TestBaseURLTakesThePortFromTheListener(t *testing.T) {
	var base string
	h := mux(wire.Options{Around: func(ctx context.Context, c *wire.Call, _ any, run wire.Run) (any, error) {
		base = c.BaseURL
		return run(ctx)
	}})
	server := httptest.NewServer(h)
	defer server.Close()
	r, err := http.NewRequest("GET", server.URL+"/?Action=Echo", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "localhost"
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if want := strings.Replace(server.URL, "127.0.0.1", "localhost", 1); base != want {
		t.Errorf("base URL %s, want %s", base, want)
	}
}

func TestDropBreaksTheConnection(t *testing.T) {
	h := mux(wire.Options{Around: func(context.Context, *wire.Call, any, wire.Run) (any, error) {
		return nil, wire.ErrDrop
	}})
	server := httptest.NewServer(h)
	defer server.Close()
	answer, err := server.Client().Get(server.URL + "/?Action=Echo")
	if err == nil {
		answer.Body.Close()
		t.Fatal("the call was answered")
	}
}
