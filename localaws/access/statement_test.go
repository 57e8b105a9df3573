package access_test

import (
	"encoding/json"
	"testing"

	"github.com/godwitmq/godwit/localaws/access"
)

// A user is denied what a Deny names: everyone, the user, or the account. Conditions on the principal count.
func TestDenies(t *testing.T) {
	const queue, user = "arn:aws:sqs:us-east-1:111122223333:orders", "arn:aws:iam::111122223333:user/ada"
	const everyone = `"Effect":"Deny","Principal":"*","Action":"*"`
	for statement, want := range map[string]bool{
		`"Effect":"Deny","Principal":"*","Action":"sqs:ReceiveMessage","Resource":"` + queue + `"`: true,
		`"Effect":"Deny","Principal":{"AWS":"*"},"Action":"SQS:*"`:                                 true,
		`"Effect":"Deny","Principal":{"AWS":["x","` + user + `"]},"Action":"*"`:                    true,
		`"Effect":"Deny","Principal":{"AWS":"111122223333"},"Action":"*"`:                          true,
		`"Effect":"Deny","Principal":{"AWS":"arn:aws:iam::111122223333:root"},"Action":"*"`:        true,
		`"Effect":"Deny","Principal":"*","NotAction":"sqs:SendMessage"`:                            true,
		everyone + `,"Condition":{"StringEquals":{"aws:PrincipalArn":"` + user + `"}}`:             true,
		everyone + `,"Condition":{"Bool":{"aws:PrincipalIsAWSService":"false"}}`:                   true,

		`"Effect":"Allow","Principal":"*","Action":"*"`:                            false,
		`"Effect":"Deny","Principal":"*","Action":"sqs:SendMessage"`:               false,
		everyone + `,"Resource":"` + queue + `-2"`:                                 false,
		`"Effect":"Deny","Principal":{"AWS":"444455556666"},"Action":"*"`:          false,
		`"Effect":"Deny","Principal":{"Service":"sns.amazonaws.com"},"Action":"*"`: false,
		`"Effect":"Deny","NotPrincipal":{"AWS":"` + user + `"},"Action":"*"`:       false,
		everyone + `,"Condition":{"Bool":{"aws:SecureTransport":"false"}}`:         false,
		everyone + `,"Condition":{"ArnEquals":{"aws:SourceArn":"x"}}`:              false,
	} {
		var s access.Statement
		if err := json.Unmarshal([]byte("{"+statement+"}"), &s); err != nil {
			t.Fatal(err)
		}
		got := access.Denies([]access.Statement{s}, access.Request{
			Caller: user, Action: "sqs:ReceiveMessage", Resource: queue, Account: "111122223333",
		})
		if got != want {
			t.Errorf("%s: denied %v, want %v", statement, got, want)
		}
	}
}
