#if canImport(BackgroundTasks) && canImport(UIKit) && !os(watchOS)
public import BackgroundTasks
public import Foundation

// Not compiled on Linux, where this project is built and tested. The logic is in `refreshInBackground()`.

extension Martlet {
    /// Lets the system wake the app now and then for ``refreshInBackground()``. Call it before the app has finished
    /// launching. The system decides when, and how often.
    ///
    /// - Parameters:
    ///   - identifier: One of `BGTaskSchedulerPermittedIdentifiers` in the app's `Info.plist`.
    ///   - interval: The shortest time between two refreshes, in seconds.
    /// - Returns: False if the identifier is not permitted.
    @discardableResult
    public func registerBackgroundRefresh(_ identifier: String, every interval: TimeInterval = 3_600) -> Bool {
        let isPermitted = BGTaskScheduler.shared.register(forTaskWithIdentifier: identifier, using: nil) {
            [weak self] task in
            guard let self else { return task.setTaskCompleted(success: false) }
            self.scheduleBackgroundRefresh(identifier, after: interval)
            // The task may be used from any thread.
            nonisolated(unsafe) let task = task
            let work = Task { task.setTaskCompleted(success: await self.refreshInBackground()) }
            task.expirationHandler = { work.cancel() }
        }
        if isPermitted { scheduleBackgroundRefresh(identifier, after: interval) }
        return isPermitted
    }

    private func scheduleBackgroundRefresh(_ identifier: String, after interval: TimeInterval) {
        let request = BGAppRefreshTaskRequest(identifier: identifier)
        request.earliestBeginDate = Date(timeIntervalSinceNow: interval)
        do {
            try BGTaskScheduler.shared.submit(request)
        } catch {
            configuration.log(.warning, "Could not schedule the background refresh", ["error": "\(error)"])
        }
    }
}
#endif
