import Foundation
import MartletCore
import MartletTesting

@testable import StorageService

/// The files of all tests in this process, in a folder that the system clears.
enum SharedFiles {
    static let directory: String = {
        let path = NSTemporaryDirectory() + "martlet-storage-files-\(getpid())"
        atexit {
            try? FileManager.default.removeItem(atPath: NSTemporaryDirectory() + "martlet-storage-files-\(getpid())")
        }
        return path
    }()

    static let settings: FileSettings = {
        var settings = FileSettings(directory: directory, secret: Secret("an-internal-secret-of-the-tests-0123456789"))
        settings.maximumSizeInBytes = 1 << 20
        return settings
    }()
}
