package bucket

import "time"

// Configurations that are kept and shown, and do not act. Their fields have the names of AWS's elements; a nil pointer
// is an element that the client did not write.
type (
	// Grant is a line of an access control list: what a user, by a canonical id, or a group of AWS may do.
	Grant struct{ User, Group, Permission string }

	// CORS are the rules of cross-origin resource sharing.
	CORS struct{ CORSRule []CORSRule }

	// CORSRule is one rule of CORS.
	CORSRule struct {
		ID            *string
		AllowedHeader []string
		AllowedMethod []string
		AllowedOrigin []string
		ExposeHeader  []string
		MaxAgeSeconds *int
	}

	// Logging says where the log of requests would go.
	Logging struct {
		TargetBucket string
		TargetPrefix string
	}

	// Website is a static website.
	Website struct {
		RedirectAllRequestsTo *WebsiteHost
		IndexDocument         *WebsiteIndex
		ErrorDocument         *WebsiteError
		RoutingRule           []WebsiteRule `xml:"RoutingRules>RoutingRule"`
	}

	// WebsiteHost is where every request is redirected to.
	WebsiteHost struct {
		HostName string
		Protocol *string
	}

	// WebsiteIndex is the object that stands for a folder.
	WebsiteIndex struct{ Suffix string }

	// WebsiteError is the object that is shown instead of an error.
	WebsiteError struct{ Key string }

	// WebsiteRule redirects some requests.
	WebsiteRule struct {
		Condition *WebsiteCondition
		Redirect  WebsiteRedirect
	}

	// WebsiteCondition selects requests.
	WebsiteCondition struct {
		HTTPErrorCodeReturnedEquals *string `xml:"HttpErrorCodeReturnedEquals"`
		KeyPrefixEquals             *string
	}

	// WebsiteRedirect is where a request is redirected to.
	WebsiteRedirect struct {
		HostName             *string
		HTTPRedirectCode     *string `xml:"HttpRedirectCode"`
		Protocol             *string
		ReplaceKeyPrefixWith *string
		ReplaceKeyWith       *string
	}

	// Transition moves objects, or earlier versions of them, to another storage class.
	Transition struct {
		Days                    *int
		Date                    *time.Time
		NoncurrentDays          *int
		NewerNoncurrentVersions *int
		StorageClass            string
	}
)
