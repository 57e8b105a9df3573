package sts_test

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/sts"
	"github.com/godwitmq/godwit/localaws/wire"
)

func TestGetCallerIdentity(t *testing.T) {
	mux := wire.NewMux(wire.Options{Account: "111122223333", Region: "us-east-1", Random: random.New(1)},
		sts.Wire())
	r := httptest.NewRequest("POST", "/", strings.NewReader("Action=GetCallerIdentity&Version=2011-06-15"))
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">`,
		`<Arn>arn:aws:iam::111122223333:user/localaws</Arn>`, `<UserId>AIDALOCALAWS000000000</UserId>`,
		`<Account>111122223333</Account>`,
	} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%s is not in %s", want, body)
		}
	}
}
