extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Shows each element on the screen, until the sequence ends or the task is cancelled.
    ///
    /// - Parameter fail: Gets the error with which the sequence ended. Cancellation is none.
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
