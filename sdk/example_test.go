package sdk_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/vant-run/vant/sdk"
)

type forecastParams struct {
	Place string `json:"place" doc:"City or postal code." min:"1"`
	Days  int    `json:"days" default:"1" clamp:"1,7" doc:"How many days."`
}

type forecastResult struct {
	Text string `json:"text"`
}

func forecast(ctx context.Context, in forecastParams) (forecastResult, error) {
	if in.Place == "Atlantis" {
		return forecastResult{}, sdk.Errorf("not_found", "there is no such place")
	}
	sdk.Logger(ctx).Info("forecast", "days", in.Days)
	return forecastResult{Text: fmt.Sprintf("%s: sunny for %d days", in.Place, in.Days)}, nil
}

// A whole plugin. Run by hand, as here, it would end the process: it says what
// it is.
func Example() {
	p := sdk.New("weather", "1.2.0", "Weather for agents.")
	sdk.Handle(p, "weather.forecast", "The forecast of a place.", forecast,
		sdk.ReadOnly(), sdk.Timeout(10*time.Second), sdk.Example(`{"place":"Paris"}`))
	if len(os.Args) == 0 { // in a plugin's main: always
		sdk.Serve(p)
	}
	fmt.Println(p.Name(), p.Version())
	// Output: weather 1.2.0
}
