import Foundation

/// Records the name of the Objective-C exception that ends the process. The report is written at the signal that
/// follows.
enum ExceptionHook {
    static func install(_ report: @escaping @Sendable (_ name: String, _ reason: String) -> Void) {
        #if canImport(ObjectiveC)
        // Not compiled on Linux, where this project is built.
        // Installed once. A second client only replaces the closure; otherwise the handler would call itself as its
        // predecessor.
        let isFirst = state.withLock { state in
            defer { state.0 = report }
            guard state.0 == nil else { return false }
            state.1 = NSGetUncaughtExceptionHandler()
            return true
        }
        guard isFirst else { return }
        NSSetUncaughtExceptionHandler { exception in
            let (report, previous) = ExceptionHook.state.withLock { $0 }
            report?(exception.name.rawValue, exception.reason ?? "")
            previous?(exception)
        }
        #endif
    }

    #if canImport(ObjectiveC)
    private typealias Report = @Sendable (String, String) -> Void
    private static let state = Locked<(Report?, (@convention(c) (NSException) -> Void)?)>((nil, nil))
    #endif
}
