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

    /// What an app does when the system wakes it in the background: it sends waiting events and reports, refreshes
    /// configuration, flags and texts, and runs the sync of ``Notifications/onSync(_:)`` without data. Failures are
    /// logged.
    ///
    /// When the system's time is up, cancel the task: the call returns at once, and everything unsent is sent later.
    ///
    /// - Returns: Whether there was time for everything.
    public func refreshInBackground() async -> Bool {
        let (ends, end) = AsyncStream<Void>.makeStream()
        let work = Task {
            await leaveForeground()
            await enteredForeground()
            _ = await notifications.sync([:])
            end.yield()
        }
        return await withTaskCancellationHandler {
            // Sending does not stop when one of its callers is cancelled, so this call returns without waiting for it.
            var iterator = ends.makeAsyncIterator()
            return await iterator.next() != nil
        } onCancel: {
            work.cancel()
        }
    }
}
