// Package sdk is what a plugin is written with. An author declares methods as
// Go functions and calls [Serve] in main; the package does the handshake, the
// RPC server, schemas, decoding, logs, events, draining and the process's end.
//
//	type Params struct {
//		Place string `json:"place" doc:"City or postal code."`
//		Days  int    `json:"days" default:"1" clamp:"1,7" doc:"How many days."`
//	}
//
//	type Forecast struct {
//		Text string `json:"text"`
//	}
//
//	func forecast(ctx context.Context, in Params) (Forecast, error) {
//		if in.Place == "" {
//			return Forecast{}, sdk.Errorf("not_found", "place is empty: give a city")
//		}
//		return Forecast{Text: in.Place + ": sunny"}, nil
//	}
//
//	func main() {
//		p := sdk.New("weather", "1.2.0", "Weather for agents.")
//		sdk.Handle(p, "weather.forecast", "The forecast of a place.", forecast,
//			sdk.ReadOnly(), sdk.Timeout(10*time.Second))
//		sdk.Serve(p)
//	}
//
// The binary is named vant-plugin-weather; `vant plugin install` puts it where
// the host finds it.
//
// # Parameters and results
//
// Names come from json tags. A field is optional when it is a pointer, has
// omitempty or omitzero, or has a default. These tags shape the schema:
//
//	doc:"text"          description
//	default:"15000"     value of an absent or null parameter
//	clamp:"1000,25000"  numbers outside are moved to the nearer bound
//	enum:"a,b"          the only values allowed
//	min:"1" max:"9"     bounds: of a number, of a string's length in code
//	                    points, of a list's length
//	pattern:"^[a-z]+$"  regular expression a string must match
//
// Unknown parameters are ignored, null is the same as absent, names match
// exactly, integers keep every digit (1.0 is an integer too), and numbers in a
// field of type any arrive as json.Number. In results a nil slice is [] and a
// nil map is {}.
//
// # Contexts
//
// The context that a function receives carries its call: [Emit], [Call],
// [Logger], [Theme], [Info] and [DirsOf] work on it and on contexts derived
// from it. It ends when nobody waits for the answer any more. Work that
// outlives a call uses context.WithoutCancel of it, or the context given to
// [Plugin.OnStart], which ends when the plugin stops.
//
// Nothing may be written to standard output before Serve; afterwards it is the
// plugin's log, as standard error is.
//
// Package plugintest tests plugins, package client calls methods from outside.
package sdk
