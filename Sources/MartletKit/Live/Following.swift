extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Passes each element to the screen, until the sequence ends or the task is cancelled.
    ///
    /// - Parameter fail: Called with the error that ended the sequence. Cancellation is not an error.
    func follow(
        show: @MainActor @Sendable (Element) -> Void, fail: @MainActor @Sendable (any Error) -> Void
    ) async {
        do {
            for try await element in self { await show(element) }
        } catch {
            guard !Task.isCancelled, !(error is CancellationError) else { return }
            await fail(error)
        }
    }
}
