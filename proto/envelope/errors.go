package envelope

import "encoding/json"

// Code is an error code of the protocol. The list is append-only: a code that
// stands here keeps its meaning for as long as protocol 1 is spoken. Doc gives
// the meaning of each.
type Code string

// The codes of the protocol.
const (
	MethodNotFound          Code = "method_not_found"
	InvalidRequest          Code = "invalid_request"
	RequestTooLarge         Code = "request_too_large"
	NotFound                Code = "not_found"
	Timeout                 Code = "timeout"
	JavaScriptError         Code = "javascript_error"
	FetchError              Code = "fetch_error"
	NavigationRejected      Code = "navigation_rejected"
	NavigationExternal      Code = "navigation_external"
	InvalidParamType        Code = "invalid_param_type"
	InvalidProperty         Code = "invalid_property"
	CookieError             Code = "cookie_error"
	ScreenshotError         Code = "screenshot_error"
	InvalidParams           Code = "invalid_params"
	WaitError               Code = "wait_error"
	UnsupportedPropertyType Code = "unsupported_property_type"
	Busy                    Code = "busy"
	PluginUnavailable       Code = "plugin_unavailable"
	PluginBusy              Code = "plugin_busy"
	ResultTooLarge          Code = "result_too_large"
	NavigationFailed        Code = "navigation_failed"
	TabCrashed              Code = "tab_crashed"
	DialogOpen              Code = "dialog_open"
	PermissionDenied        Code = "permission_denied"
	InternalError           Code = "internal_error"
)

// codes documents every code, in the order in which they came to be. Host
// codes say something about the host itself: a plugin may not answer with
// them.
var codes = [...]struct {
	code Code
	host bool
	doc  string
}{
	{MethodNotFound, true, "no plugin has the method; the message names near ones"},
	{InvalidRequest, true, "the line is not a request of this protocol"},
	{RequestTooLarge, true, "the request line is longer than limits.request_bytes"},
	{NotFound, false, "what was named does not exist, or exists no more"},
	{Timeout, false, "the bound passed; whether the call had an effect is unknown"},
	{JavaScriptError, false, "a script threw, or its value has no JSON form"},
	{FetchError, false, "an HTTP exchange failed below HTTP"},
	{NavigationRejected, false, "the address may not be opened"},
	{NavigationExternal, false, "the address belongs to another program"},
	{InvalidParamType, false, "a parameter has the wrong JSON type"},
	{InvalidProperty, false, "the property does not exist or is read-only"},
	{CookieError, false, "a cookie could not be read or written"},
	{ScreenshotError, false, "no picture could be taken or stored"},
	{InvalidParams, false, "a parameter is missing or has a value that is not allowed"},
	{WaitError, false, "a wait could not be set up"},
	{UnsupportedPropertyType, false, "the property's type has no JSON form"},
	{Busy, true, "the host serves as many connections as it takes"},
	{PluginUnavailable, true, "the plugin is not running; data has plugin, state and retry_after_ms"},
	{PluginBusy, true, "the plugin runs as many calls as it takes"},
	{ResultTooLarge, true, "the reply is longer than limits.result_bytes"},
	{NavigationFailed, false, "the network refused the page"},
	{TabCrashed, false, "the tab's process died"},
	{DialogOpen, false, "a dialog keeps the page from running"},
	{PermissionDenied, false, "the operation is not allowed here"},
	{InternalError, false, "a fault of the host or of a plugin"},
}

// Codes lists every code of the protocol, in the order of the documentation.
func Codes() []Code {
	list := make([]Code, len(codes))
	for i := range codes {
		list[i] = codes[i].code
	}
	return list
}

// Doc says what the code means; "" for a code that is not the protocol's.
func (c Code) Doc() string {
	for i := range codes {
		if codes[i].code == c {
			return codes[i].doc
		}
	}
	return ""
}

// Known says whether the code is the protocol's.
func (c Code) Known() bool { return c.Doc() != "" }

// Reserved says whether only the host may answer with the code.
func Reserved(code string) bool {
	for i := range codes {
		if string(codes[i].code) == code {
			return codes[i].host
		}
	}
	return false
}

// Error is a failure as it travels in a reply.
type Error struct {
	Code    Code            `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"` // absent when nil
}

// Error gives code and message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }
