package sns

import (
	"net/mail"
	"net/url"
	"regexp"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// protocol is a way to deliver to subscribers.
type protocol struct {
	atOnce    bool // a subscription needs no confirmation
	delivered bool // this server delivers; what other protocols would have sent is kept as unsent
	large     bool // a topic whose messages may have more than 256 KiB can have such subscriptions
	overHTTP  bool
	// check returns SNS's reason to refuse an endpoint of the protocol; nil: the endpoint is good.
	check func(endpoint string) *wire.Error
}

// protocols are SNS's, by their names in Subscribe.
var protocols = map[string]protocol{
	"sqs":         {atOnce: true, delivered: true, large: true, check: arnOf("sqs", "SQS endpoint ARN")},
	"http":        {delivered: true, overHTTP: true, check: urlOf("http")},
	"https":       {delivered: true, overHTTP: true, check: urlOf("https")},
	"email":       {check: checkEmail},
	"email-json":  {check: checkEmail},
	"sms":         {atOnce: true, check: checkPhone},
	"lambda":      {atOnce: true, large: true, check: arnOf("lambda", "Lambda endpoint ARN")},
	"firehose":    {atOnce: true, large: true, check: arnOf("firehose", "Firehose endpoint ARN")},
	"application": {atOnce: true, check: checkApplication},
}

// protocolNamed returns the protocol with a name, or SNS's error.
func protocolNamed(name string) (protocol, *wire.Error) {
	p, ok := protocols[name]
	if !ok {
		return p, invalid("Amazon SNS does not support this protocol string: %s", name)
	}
	return p, nil
}

// of returns the protocol of a subscription, which was checked when it was made.
func (sub *subscription) of() protocol { return protocols[sub.protocol] }

func arnOf(service, reason string) func(string) *wire.Error {
	return func(endpoint string) *wire.Error {
		parts := strings.Split(endpoint, ":")
		if len(parts) < arnElements || parts[0] != "arn" || parts[2] != service || parts[5] == "" {
			return invalid("%s", reason)
		}
		return nil
	}
}

// checkApplication checks the ARN of a mobile endpoint.
func checkApplication(endpoint string) *wire.Error {
	parts := strings.SplitN(endpoint, ":", arnElements)
	if arnOf("sns", "")(endpoint) != nil || !strings.HasPrefix(parts[arnElements-1], "endpoint/") {
		return invalid("Application endpoint arn invalid:%s", endpoint)
	}
	return nil
}

func urlOf(scheme string) func(string) *wire.Error {
	return func(endpoint string) *wire.Error {
		u, err := url.Parse(endpoint)
		if err != nil || u.Scheme != scheme || u.Host == "" {
			return invalid("Endpoint must match the specified protocol")
		}
		return nil
	}
}

func checkEmail(endpoint string) *wire.Error {
	if a, err := mail.ParseAddress(endpoint); err != nil || a.Address != endpoint {
		return invalid("Email address")
	}
	return nil
}

// smsForm is SNS's form of a subscribing telephone number: separators are allowed between its digits.
var smsForm = regexp.MustCompile(`^\+?[0-9]+([./-][0-9]+)*$`)

func checkPhone(endpoint string) *wire.Error {
	if !smsForm.MatchString(endpoint) {
		return &wire.Error{Code: "InvalidParameter", Message: "Invalid SMS endpoint: " + endpoint}
	}
	return nil
}
