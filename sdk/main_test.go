package sdk_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/vant-run/vant/sdk"
)

// roleEnv makes the test binary something else than a test.
const roleEnv = "SDK_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "plugin":
		sdk.Serve(testPlugin())
	case "middle":
		os.Exit(middle())
	}
	goleak.VerifyTestMain(m)
}

type greeting struct {
	Name string `json:"name" doc:"Whom to greet." default:"world"`
}

// testPlugin is what the subprocess tests run.
func testPlugin() *sdk.Plugin {
	p := sdk.New("greeter", "1.0.0", "Greets.")
	sdk.Handle(p, "greeter.hello", "Says hello.", func(ctx context.Context, in greeting) (string, error) {
		sdk.Emit(ctx, "greeter.greeted", map[string]string{"name": in.Name})
		sdk.Logger(ctx).Info("greeting")
		fmt.Println("a stray line on standard output")
		return "hello " + in.Name, nil
	}, sdk.ReadOnly())
	sdk.HandleRaw(p, "greeter.echo", "Gives back.", echo)
	sdk.Handle(p, "greeter.wait", "Waits for its end.", func(ctx context.Context, _ struct{}) (bool, error) {
		fmt.Fprintln(os.Stderr, "waiting")
		<-ctx.Done()
		return false, ctx.Err()
	})
	sdk.Handle(p, "greeter.short", "Takes 200 ms.", func(ctx context.Context, _ struct{}) (bool, error) {
		fmt.Fprintln(os.Stderr, "waiting")
		t := time.NewTimer(200 * time.Millisecond)
		defer t.Stop()
		select {
		case <-t.C:
			return true, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	})
	p.OnStart(func(ctx context.Context) error {
		if os.Getenv("SDK_TEST_FAIL") != "" {
			return errors.New("told to fail")
		}
		return nil
	})
	p.OnStop(func(ctx context.Context) error {
		sdk.Emit(ctx, "greeter.stopped", nil)
		if file := os.Getenv("SDK_TEST_STOPPED"); file != "" {
			return os.WriteFile(file, []byte("stopped\n"), 0o600)
		}
		return nil
	})
	return p
}

// middle stands between a test and a plugin: a host that can be killed.
func middle() int {
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleEnv+"=plugin")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 1
	}
	if err := cmd.Start(); err != nil {
		return 1
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return 1
	}
	if _, err := fmt.Print(line); err != nil {
		return 1
	}
	return exitOf(cmd.Wait())
}

func exitOf(err error) int {
	var e *exec.ExitError
	if errors.As(err, &e) {
		return e.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}
