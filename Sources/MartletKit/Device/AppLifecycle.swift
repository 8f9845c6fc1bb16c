extension Martlet {
    /// For apps that follow their life cycle themselves: sends what waits. A failure is logged, and what waits stays.
    public func leaveForeground() async {
        do {
            try await analytics.flush()
        } catch {
            configuration.log(.info, "Could not send events; they are kept", ["error": "\(error)"])
        }
        await crashes.flush()
    }

    /// Asks for configuration, texts and flags, each of which is a short call if nothing has changed. For the start and
    /// whenever the app comes to the foreground.
    public func enteredForeground() async {
        await remote.refreshQuietly()
        await flags.refreshQuietly()
        await notifications.flush()
        do {
            try await translations.refresh()
        } catch {
            configuration.log(.info, "Could not refresh the texts", ["error": "\(error)"])
        }
    }
}
