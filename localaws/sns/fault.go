package sns

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// invalid returns SNS's most common error, InvalidParameter.
func invalid(format string, args ...any) *wire.Error {
	return &wire.Error{Code: "InvalidParameter", Message: "Invalid parameter: " + fmt.Sprintf(format, args...)}
}

func valueInvalid(format string, args ...any) *wire.Error {
	return &wire.Error{Code: "ParameterValueInvalid", Message: fmt.Sprintf(format, args...)}
}

func limitExceeded(code, message string) *wire.Error {
	return &wire.Error{Code: code, Message: message, Status: http.StatusForbidden}
}

func noTopic() *wire.Error {
	return &wire.Error{Code: "NotFound", Message: "Topic does not exist", Status: http.StatusNotFound}
}

func noSubscription() *wire.Error {
	return &wire.Error{Code: "NotFound", Message: "Subscription does not exist", Status: http.StatusNotFound}
}

func noResource() *wire.Error {
	return &wire.Error{Code: "ResourceNotFound", Message: "Resource does not exist", Status: http.StatusNotFound}
}

func (s *Service) unauthorized(action, arn string) *wire.Error {
	return &wire.Error{
		Code: "AuthorizationError", Status: http.StatusForbidden,
		Message: fmt.Sprintf("User: %s is not authorized to perform: SNS:%s on resource: %s because no "+
			"resource-based policy allows the SNS:%s action",
			s.principal(), action, arn, action),
	}
}

// principal is the user that every caller is taken for, because this server has no users.
func (s *Service) principal() string {
	return "arn:aws:iam::" + s.opts.Account + ":user/localaws"
}

const arnElements = 6

// parseARN splits an ARN of this service. parameter is its name in the error.
func parseARN(parameter string, value *string) ([]string, *wire.Error) {
	if value == nil {
		return nil, invalid("%s Reason: no value for required parameter", parameter)
	}
	parts := strings.Split(*value, ":")
	if len(parts) < arnElements {
		return nil, invalid("%s Reason: An ARN must have at least %d elements, not %d", parameter, arnElements,
			len(parts))
	}
	return parts, nil
}

// ours checks that a parsed ARN belongs to this service, region and account.
func (s *Service) ours(parameter, action string, parts []string) *wire.Error {
	switch {
	case parts[0] != "arn" || parts[2] != "sns" || parts[3] != s.opts.Region:
		return invalid("%s", parameter)
	case parts[4] != s.opts.Account:
		return s.unauthorized(action, strings.Join(parts, ":"))
	}
	return nil
}

// topicARN checks a topic's ARN without checking that the topic exists.
func (s *Service) topicARN(parameter, action string, value *string) (string, *wire.Error) {
	parts, err := parseARN(parameter, value)
	if err == nil {
		err = s.ours(parameter, action, parts)
	}
	if err != nil {
		return "", err
	}
	return *value, nil
}

// subscriptionARN checks a subscription's ARN without checking that the subscription exists.
func (s *Service) subscriptionARN(action string, value *string) (string, *wire.Error) {
	if value == nil || *value == "" {
		return "", invalid("SubscriptionArn Reason: no value for required parameter")
	}
	parts, err := parseARN("SubscriptionArn", value)
	if err != nil {
		return "", err
	}
	if len(parts) != arnElements+1 || !uuidForm.MatchString(parts[arnElements]) {
		return "", invalid("SubscriptionId")
	}
	if err := s.ours("SubscriptionArn", action, parts); err != nil {
		return "", err
	}
	return *value, nil
}
