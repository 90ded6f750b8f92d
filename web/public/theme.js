// Before the first paint, so that a remembered theme does not flash. A file of its own: inline scripts are forbidden here.
(function () {
  try {
    var theme = localStorage.getItem('cordwood.theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  } catch {
    // No storage: the system's theme.
  }
})();
