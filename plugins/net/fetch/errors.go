package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/vant-run/vant/plugins/internal/urlpolicy"
)

// Kind says at which layer an exchange failed.
type Kind string

const (
	KindDNS      Kind = "dns"      // the name has no address
	KindConnect  Kind = "connect"  // refused, unreachable, reset
	KindTLS      Kind = "tls"      // certificate or handshake
	KindTimeout  Kind = "timeout"  // connecting, silence, or the whole took too long
	KindProtocol Kind = "protocol" // the answer is not HTTP
	KindPolicy   Kind = "policy"   // the operator's rules refuse the host
	KindBody     Kind = "body"     // the body broke off or cannot be decoded
)

// Error is a failed exchange. Its text holds no URL and no header.
type Error struct {
	Kind    Kind
	Message string
	// Status is the HTTP status when the head of an answer had come.
	Status int
}

func (e *Error) Error() string { return e.Message }

// ParamError is a parameter that cannot be used; nothing was sent.
type ParamError struct{ Pointer, Message string }

func (e *ParamError) Error() string { return "/" + e.Pointer + ": " + e.Message }

func invalid(pointer, message string) error { return &ParamError{pointer, message} }

// FileError is a file that cannot be written.
type FileError struct{ Err error }

func (e *FileError) Error() string { return "path: " + e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }

// classify gives a failure of net/http its kind and a text without the URL.
func classify(ctx context.Context, err error) error {
	var own *Error
	var file *FileError
	if errors.As(err, &own) || errors.As(err, &file) {
		return err
	}
	if cause := context.Cause(ctx); cause != nil {
		if errors.As(cause, &own) {
			return own
		}
		return cause // the caller's own deadline or cancellation
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var denied *urlpolicy.Denied
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &denied):
		return &Error{Kind: KindPolicy, Message: denied.Error()}
	case errors.As(err, &dns):
		return &Error{Kind: KindDNS, Message: "no address for " + dns.Name + ": " + dns.Err}
	case isTLS(err):
		return &Error{Kind: KindTLS, Message: err.Error()}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(err.Error(), "server closed idle connection"):
		return &Error{Kind: KindProtocol, Message: "the server closed the connection without an answer"}
	case errors.As(err, &op) && op.Timeout():
		return &Error{Kind: KindTimeout, Message: op.Err.Error()}
	case errors.As(err, &op), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return &Error{Kind: KindConnect, Message: err.Error()}
	}
	return &Error{Kind: KindProtocol, Message: err.Error()}
}

func isTLS(err error) bool {
	var (
		verify  *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		bad     x509.CertificateInvalidError
	)
	return errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &alert) ||
		errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &bad) ||
		errors.Is(err, http.ErrSchemeMismatch) || strings.HasPrefix(err.Error(), "tls: ")
}
