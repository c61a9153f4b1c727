"""Reading data sets straight from the files of installed packages.

Nothing is downloaded and no package is imported: its directory is looked up and the file is
read, since importing `river` or `statsmodels` takes seconds and a data file takes none. Each
module holds one family of readers.
"""

from wmrl_gym.envs.mle.sources.readers import READERS, Reader
from wmrl_gym.envs.mle.sources.source import Source

__all__ = ["READERS", "Reader", "Source"]
