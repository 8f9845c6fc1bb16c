extension Martlet {
    /// Sends waiting events and crash reports. A failure is logged, and nothing is lost. For apps that do not use
    /// `followAppLifecycle()`.
    public func leaveForeground() async {
        await analytics.flushQuietly()
        await crashes.flush()
    }

    /// Refreshes configuration, flags and texts, and sends reports of opened notifications. Call it at the start and
    /// whenever the app comes to the foreground. If nothing has changed on the server, each refresh is one short call.
    public func enteredForeground() async {
        await remote.refreshQuietly()
        await flags.refreshQuietly()
        await notifications.flush()
        await translations.refreshQuietly()
    }
}
